from __future__ import annotations
from typing import Any
from PIL import Image
def draw(study: Any, metric: str) -> Any:
    return Image.new("RGB", (10, 10))
