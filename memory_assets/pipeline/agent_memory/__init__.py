"""What agents wrote themselves, as a source of the pipeline.

Belongs here: the services over the journal of one memory, and the stages that make tables of the
journal. Does not belong here: what may be stored (`agent_memory/`), and what all tables have in
common (`tables/`, `indexes/`).
"""
