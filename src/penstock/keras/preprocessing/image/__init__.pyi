# Written by `python -m penstock.api.generate`.
from penstock.keras.preprocessing.image.affine import apply_affine_transform as apply_affine_transform
from penstock.keras.preprocessing.image.affine import apply_brightness_shift as apply_brightness_shift
from penstock.keras.preprocessing.image.affine import apply_channel_shift as apply_channel_shift
from penstock.keras.preprocessing.image.affine import apply_transform as apply_transform
from penstock.keras.preprocessing.image.affine import flip_axis as flip_axis
from penstock.keras.preprocessing.image.affine import random_brightness as random_brightness
from penstock.keras.preprocessing.image.affine import random_channel_shift as random_channel_shift
from penstock.keras.preprocessing.image.affine import random_rotation as random_rotation
from penstock.keras.preprocessing.image.affine import random_shear as random_shear
from penstock.keras.preprocessing.image.affine import random_shift as random_shift
from penstock.keras.preprocessing.image.affine import random_zoom as random_zoom
from penstock.keras.preprocessing.image.array_iterator import NumpyArrayIterator as NumpyArrayIterator
from penstock.keras.preprocessing.image.file_iterators import DirectoryIterator as DirectoryIterator
from penstock.keras.preprocessing.image.files import array_to_img as array_to_img
from penstock.keras.preprocessing.image.files import img_to_array as img_to_array
from penstock.keras.preprocessing.image.files import load_img as load_img
from penstock.keras.preprocessing.image.files import save_img as save_img
from penstock.keras.preprocessing.image.generator import ImageDataGenerator as ImageDataGenerator
from penstock.keras.preprocessing.image.iterator import Iterator as Iterator

__all__ = [
    "apply_affine_transform", "apply_brightness_shift", "apply_channel_shift", "apply_transform", "flip_axis",
    "random_brightness", "random_channel_shift", "random_rotation", "random_shear", "random_shift", "random_zoom",
    "NumpyArrayIterator", "DirectoryIterator", "array_to_img", "img_to_array", "load_img", "save_img",
    "ImageDataGenerator", "Iterator"
]
