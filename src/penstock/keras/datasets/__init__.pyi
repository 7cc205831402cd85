# Written by `python -m penstock.api.generate`.
from penstock.keras.datasets import boston_housing as boston_housing
from penstock.keras.datasets import cifar10 as cifar10
from penstock.keras.datasets import cifar100 as cifar100
from penstock.keras.datasets import fashion_mnist as fashion_mnist
from penstock.keras.datasets import imdb as imdb
from penstock.keras.datasets import mnist as mnist
from penstock.keras.datasets import reuters as reuters

__all__ = [
    "boston_housing", "cifar10", "cifar100", "fashion_mnist", "imdb", "mnist", "reuters"
]
