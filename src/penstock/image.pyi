# Written by `python -m penstock.api.generate`.
from penstock.ops.image_adjust import adjust_brightness as adjust_brightness
from penstock.ops.image_adjust import adjust_contrast as adjust_contrast
from penstock.ops.image_adjust import adjust_gamma as adjust_gamma
from penstock.ops.image_adjust import adjust_hue as adjust_hue
from penstock.ops.image_adjust import adjust_saturation as adjust_saturation
from penstock.ops.image_adjust import grayscale_to_rgb as grayscale_to_rgb
from penstock.ops.image_adjust import random_brightness as random_brightness
from penstock.ops.image_adjust import random_contrast as random_contrast
from penstock.ops.image_adjust import random_hue as random_hue
from penstock.ops.image_adjust import random_saturation as random_saturation
from penstock.ops.image_adjust import rgb_to_grayscale as rgb_to_grayscale
from penstock.ops.image_adjust import rgb_to_yiq as rgb_to_yiq
from penstock.ops.image_adjust import rgb_to_yuv as rgb_to_yuv
from penstock.ops.image_adjust import yiq_to_rgb as yiq_to_rgb
from penstock.ops.image_adjust import yuv_to_rgb as yuv_to_rgb
from penstock.ops.image_boxes import draw_bounding_boxes as draw_bounding_boxes
from penstock.ops.image_color import hsv_to_rgb as hsv_to_rgb
from penstock.ops.image_color import rgb_to_hsv as rgb_to_hsv
from penstock.ops.image_crops import crop_and_resize as crop_and_resize
from penstock.ops.image_decode import decode_bmp as decode_bmp
from penstock.ops.image_decode import decode_gif as decode_gif
from penstock.ops.image_decode import decode_image as decode_image
from penstock.ops.image_decode import decode_png as decode_png
from penstock.ops.image_decode_jpeg import decode_and_crop_jpeg as decode_and_crop_jpeg
from penstock.ops.image_decode_jpeg import decode_jpeg as decode_jpeg
from penstock.ops.image_decode_jpeg import extract_jpeg_shape as extract_jpeg_shape
from penstock.ops.image_decode_jpeg import is_jpeg as is_jpeg
from penstock.ops.image_encode import encode_jpeg as encode_jpeg
from penstock.ops.image_encode import encode_png as encode_png
from penstock.ops.image_functions import ResizeMethod as ResizeMethod
from penstock.ops.image_functions import resize_images as resize
from penstock.ops.image_functions import resize_images as resize_images
from penstock.ops.image_jpeg_quality import adjust_jpeg_quality as adjust_jpeg_quality
from penstock.ops.image_jpeg_quality import random_jpeg_quality as random_jpeg_quality
from penstock.ops.image_measures import image_gradients as image_gradients
from penstock.ops.image_measures import psnr as psnr
from penstock.ops.image_measures import sobel_edges as sobel_edges
from penstock.ops.image_measures import ssim as ssim
from penstock.ops.image_measures import ssim_multiscale as ssim_multiscale
from penstock.ops.image_measures import total_variation as total_variation
from penstock.ops.image_patches import extract_image_patches as extract_image_patches
from penstock.ops.image_patches import extract_patches as extract_patches
from penstock.ops.image_resize import resize_area as resize_area
from penstock.ops.image_resize import resize_bicubic as resize_bicubic
from penstock.ops.image_resize import resize_bilinear as resize_bilinear
from penstock.ops.image_resize import resize_nearest_neighbor as resize_nearest_neighbor
from penstock.ops.image_sampling import extract_glimpse as extract_glimpse
from penstock.ops.image_sampling import sample_distorted_bounding_box as sample_distorted_bounding_box
from penstock.ops.image_suppression import combined_non_max_suppression as combined_non_max_suppression
from penstock.ops.image_suppression import non_max_suppression as non_max_suppression
from penstock.ops.image_suppression import non_max_suppression_overlaps as non_max_suppression_overlaps
from penstock.ops.image_suppression import non_max_suppression_padded as non_max_suppression_padded
from penstock.ops.image_suppression import non_max_suppression_with_scores as non_max_suppression_with_scores
from penstock.ops.image_turning import flip_left_right as flip_left_right
from penstock.ops.image_turning import flip_up_down as flip_up_down
from penstock.ops.image_turning import random_flip_left_right as random_flip_left_right
from penstock.ops.image_turning import random_flip_up_down as random_flip_up_down
from penstock.ops.image_turning import rot90 as rot90
from penstock.ops.image_turning import transpose_image as transpose
from penstock.ops.image_turning import transpose_image as transpose_image
from penstock.ops.image_values import convert_image_dtype as convert_image_dtype
from penstock.ops.image_values import per_image_standardization as per_image_standardization
from penstock.ops.image_values import per_image_standardization as per_image_whitening
from penstock.ops.image_windows import central_crop as central_crop
from penstock.ops.image_windows import crop_to_bounding_box as crop_to_bounding_box
from penstock.ops.image_windows import pad_to_bounding_box as pad_to_bounding_box
from penstock.ops.image_windows import resize_image_with_crop_or_pad as resize_image_with_crop_or_pad
from penstock.ops.image_windows import resize_image_with_pad as resize_image_with_pad
from penstock.ops.image_windows import resize_image_with_crop_or_pad as resize_with_crop_or_pad
from penstock.ops.random import random_crop as random_crop

__all__ = [
    "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_saturation", "grayscale_to_rgb",
    "random_brightness", "random_contrast", "random_hue", "random_saturation", "rgb_to_grayscale", "rgb_to_yiq",
    "rgb_to_yuv", "yiq_to_rgb", "yuv_to_rgb", "draw_bounding_boxes", "hsv_to_rgb", "rgb_to_hsv", "crop_and_resize",
    "decode_bmp", "decode_gif", "decode_image", "decode_png", "decode_and_crop_jpeg", "decode_jpeg",
    "extract_jpeg_shape", "is_jpeg", "encode_jpeg", "encode_png", "ResizeMethod", "resize", "resize_images",
    "adjust_jpeg_quality", "random_jpeg_quality", "image_gradients", "psnr", "sobel_edges", "ssim", "ssim_multiscale",
    "total_variation", "extract_image_patches", "extract_patches", "resize_area", "resize_bicubic", "resize_bilinear",
    "resize_nearest_neighbor", "extract_glimpse", "sample_distorted_bounding_box", "combined_non_max_suppression",
    "non_max_suppression", "non_max_suppression_overlaps", "non_max_suppression_padded",
    "non_max_suppression_with_scores", "flip_left_right", "flip_up_down", "random_flip_left_right",
    "random_flip_up_down", "rot90", "transpose", "transpose_image", "convert_image_dtype", "per_image_standardization",
    "per_image_whitening", "central_crop", "crop_to_bounding_box", "pad_to_bounding_box",
    "resize_image_with_crop_or_pad", "resize_image_with_pad", "resize_with_crop_or_pad", "random_crop"
]
