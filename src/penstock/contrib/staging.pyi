# Written by `python -m penstock.api.generate`.
from penstock.client.staging_areas import StagingArea as StagingArea

__all__ = [
    "StagingArea"
]
