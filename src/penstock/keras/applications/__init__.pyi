# Written by `python -m penstock.api.generate`.
from penstock.keras.applications import densenet as densenet
from penstock.keras.applications import imagenet_utils as imagenet_utils
from penstock.keras.applications import inception_resnet_v2 as inception_resnet_v2
from penstock.keras.applications import inception_v3 as inception_v3
from penstock.keras.applications import mobilenet as mobilenet
from penstock.keras.applications import mobilenet_v2 as mobilenet_v2
from penstock.keras.applications import resnet as resnet
from penstock.keras.applications import resnet50 as resnet50
from penstock.keras.applications import resnet_v2 as resnet_v2
from penstock.keras.applications import vgg16 as vgg16
from penstock.keras.applications import vgg19 as vgg19
from penstock.keras.applications import xception as xception
from penstock.keras.applications.dense_blocks import DenseNet121 as DenseNet121
from penstock.keras.applications.dense_blocks import DenseNet169 as DenseNet169
from penstock.keras.applications.dense_blocks import DenseNet201 as DenseNet201
from penstock.keras.applications.inception import InceptionResNetV2 as InceptionResNetV2
from penstock.keras.applications.inception import InceptionV3 as InceptionV3
from penstock.keras.applications.mobile import MobileNet as MobileNet
from penstock.keras.applications.mobile import MobileNetV2 as MobileNetV2
from penstock.keras.applications.residual import ResNet101 as ResNet101
from penstock.keras.applications.residual import ResNet101V2 as ResNet101V2
from penstock.keras.applications.residual import ResNet152 as ResNet152
from penstock.keras.applications.residual import ResNet152V2 as ResNet152V2
from penstock.keras.applications.residual import ResNet50 as ResNet50
from penstock.keras.applications.residual import ResNet50V2 as ResNet50V2
from penstock.keras.applications.separable import Xception as Xception
from penstock.keras.applications.vgg import VGG16 as VGG16
from penstock.keras.applications.vgg import VGG19 as VGG19

__all__ = [
    "densenet", "imagenet_utils", "inception_resnet_v2", "inception_v3", "mobilenet", "mobilenet_v2", "resnet",
    "resnet50", "resnet_v2", "vgg16", "vgg19", "xception", "DenseNet121", "DenseNet169", "DenseNet201",
    "InceptionResNetV2", "InceptionV3", "MobileNet", "MobileNetV2", "ResNet101", "ResNet101V2", "ResNet152",
    "ResNet152V2", "ResNet50", "ResNet50V2", "Xception", "VGG16", "VGG19"
]
