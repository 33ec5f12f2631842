"""Publishing what was redacted: rows first, then what the catalogue has of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.known_secrets import Redaction
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.batch import Batch


def publish(components: Components, batch: Batch, redacted: Iterable[Redaction]) -> list[Product]:
    """Publish the rows of redacted sessions, note their products, and return those of the
    records."""
    sizes = batch.publish()

    def sized(product: Product) -> Product:
        return replace(product, bytes=sizes.get((product.stage, product.session_id), product.bytes))

    noted = [
        replace(each, records=sized(each.records), audit=sized(each.audit)) for each in redacted
    ]
    components.catalog.redactions.put(*noted)
    return [each.records for each in noted]
