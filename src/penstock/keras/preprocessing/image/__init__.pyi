# Written by `python -m penstock.api.generate`.
from penstock.keras.preprocessing.image.files import array_to_img as array_to_img
from penstock.keras.preprocessing.image.files import img_to_array as img_to_array
from penstock.keras.preprocessing.image.files import load_img as load_img
from penstock.keras.preprocessing.image.files import save_img as save_img
from penstock.keras.preprocessing.image.generator import ImageDataGenerator as ImageDataGenerator

__all__ = [
    "array_to_img", "img_to_array", "load_img", "save_img", "ImageDataGenerator"
]
