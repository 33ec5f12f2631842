"""The [sensor](https://docs.dagster.io/guides/automate/sensors) of what agents write themselves."""

import dagster as dg

from memory_assets.dagster.jobs import index_agent_memory
from memory_assets.dagster.partitions import agent_memory, busy_partitions, requests_to_remove
from memory_assets.dagster.resources import MemoryParam
from memory_assets.dagster.workspace_sensor import requested
from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.plan.agent_memory import plan_agent_memory, written
from memory_assets.stores.runs.names import AGENT_MEMORY_JOB


@dg.sensor(
    job=index_agent_memory,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
@no_text_in_errors()
def agent_memory_sensor(
    context: dg.SensorEvaluationContext, memory: MemoryParam
) -> dg.SensorResult:
    """Request a run for each partition with something new. A tick costs a few queries."""
    components = memory.components()
    gone = requests_to_remove(context.instance, agent_memory, written(components))
    busy = busy_partitions(context.instance, AGENT_MEMORY_JOB) | components.runs.busy_partitions()
    plans = [work for work in plan_agent_memory(components) if work.project not in busy]
    return requested(context.instance, plans, gone, "what agents wrote is up to date")
