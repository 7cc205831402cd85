"""Libraries of images take what they took at the time of TF 1.x. Literals are scikit-image 0.17's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs.running import output_of

IMAGES = (
    "import warnings; warnings.simplefilter('ignore')\nimport numpy as np\nfrom PIL import Image\n"
    "def read(path): return np.array(Image.open(path)).tolist()\n"
    "r = np.random.RandomState(0)\na = r.rand(32, 32, 3)\nb = np.clip(a + 0.1 * r.randn(32, 32, 3), 0, 1)\n"
)


def test_imageio_writes_8_bits_of_floats_and_of_wide_integers(tmp_path: Path) -> None:
    pytest.importorskip("imageio")
    text = IMAGES + (
        "import imageio\nx = np.array([[0.0, 0.5, 1.0]])\n"
        "imageio.imwrite('a.png', x)\nimageio.imsave('b.png', x.astype('f')[..., None] * 4 - 2)\n"
        "imageio.imwrite('c.png', np.array([[10, 20, 30]]))\nimageio.imwrite('d.png', np.uint16([[7, 300]]))\n"
        "print(read('a.png'), read('b.png'), read('c.png'), read('d.png'))\n"
        "imageio.mimsave('a.gif', [a, b], fps=4)\nimageio.mimwrite('b.gif', [a, b], duration=0.5)\n"
        "with imageio.get_writer('c.gif', mode='I') as writer:\n    writer.append_data(a)\n    writer.append_data(b)\n"
        "print([(Image.open(f'{i}.gif').n_frames, Image.open(f'{i}.gif').info['duration']) for i in 'abc'])\n"
    )
    found = output_of(tmp_path, text).splitlines()
    assert found[0] == "[[0, 127, 255]] [[0, 127, 255]] [[0, 127, 255]] [[7, 300]]"
    assert found[1] == "[(2, 250), (2, 500), (2, 100)]"


def test_scikit_image_saves_8_bits_and_compares_images_as_it_did(tmp_path: Path) -> None:
    pytest.importorskip("skimage")
    text = IMAGES + (
        "import skimage.io\nfrom skimage.measure import compare_mse, compare_nrmse, compare_psnr, compare_ssim\n"
        "skimage.io.imsave('a.png', np.array([[-1.0, 0.0, 0.5, 1.0]]))\nskimage.io.imsave('b.png', a[..., 0] > 2)\n"
        "print(read('a.png'), np.max(read('b.png')))\n"
        "bytes_ = [(x * 255).astype('u1') for x in (a, b)]\n"
        "print([round(float(v), 5) for v in (compare_ssim(a, b, multichannel=True), compare_ssim(a[..., 0], b[..., 0]),"
        " compare_ssim(*bytes_, multichannel=True), compare_psnr(a, b), compare_mse(a, b), compare_nrmse(a, b))])\n"
    )
    found = output_of(tmp_path, text).splitlines()
    assert found == ["[[0, 0, 128, 255]] 0", "[0.94953, 0.95224, 0.94869, 20.61608, 0.00868, 0.15994]"]


def test_scikit_images_functions_have_their_names_and_arguments_of_then(tmp_path: Path) -> None:
    pytest.importorskip("skimage")
    text = IMAGES + (
        "import skimage\nfrom skimage import draw, feature, filters, measure, morphology, transform, util\n"
        "print([round(float(v), 4) for v in (filters.gaussian(a, 2, multichannel=True).std(),"
        " filters.gaussian(a, 1).std(), feature.hog(a, multichannel=True).sum(),"
        " morphology.dilation(a[..., 0], selem=morphology.disk(1)).sum())])\n"
        "print(transform.rescale(a, 0.5, multichannel=True).shape, len(draw.circle(5, 5, 3)[0]),"
        " util.pad(a, 1, 'constant').shape, measure.label(np.eye(2), neighbors=4).max())\n"
        "grey = (a[..., 0] * 255).astype('u1')\n"
        "print(feature.greycoprops(feature.greycomatrix(grey, [1], [0]), 'contrast').round(3))\n"
        "from skimage.viewer import ImageViewer\n"
        "try: ImageViewer(a)\nexcept Exception as error: print(error)\n"
    )
    found = output_of(tmp_path, text).splitlines()
    assert found[0] == "[0.0445, 0.0861, 33.1066, 867.3588]"
    assert found[1:3] == ["(16, 16, 3) 25 (34, 34, 5) 2", "[[11799.712]]"]
    assert "show images with matplotlib" in found[3]


def test_scikit_image_finds_numbers_between_those_of_masks(tmp_path: Path) -> None:
    pytest.importorskip("skimage")
    text = (
        "import numpy as np\nfrom skimage import transform\nmask = np.array([[True, False], [True, False]])\n"
        "print(transform.resize(mask, (2, 4), order=1, mode='edge').tolist()[0])\n"
        "print(transform.resize(mask, (2, 4), order=0, mode='edge').tolist()[0], transform.rotate(mask, 90).dtype)\n"
    )
    assert output_of(tmp_path, text) == "[1.0, 0.75, 0.25, 0.0]\n[True, True, False, False] float64\n"


def test_opencv_takes_numpys_floats_for_points_and_sizes(tmp_path: Path) -> None:
    pytest.importorskip("cv2")
    text = (
        "import cv2, numpy as np\nbox = np.float32([1.7, 2.2, 5.9, 6.1])\nimage = np.zeros((9, 9, 3), np.uint8)\n"
        "cv2.rectangle(image, (box[0], box[1]), tuple(box[2:]), tuple(np.array([1, 2, 3])), 1)\n"
        "print(image[2, 1:7, 2].tolist(), image[6, 5].tolist(), cv2.resize(image, (box[2], box[3])).shape)\n"
        "cv2.circle(image, (4, 4), np.float32(0.5), (9, 9, 9), -1)\nprint(image[4, 4].tolist())\n"
        "try: cv2.circle(image, 'here', 1, 2)\nexcept Exception as error: print('center' in str(error))\n"
    )
    assert output_of(tmp_path, text) == "[3, 3, 3, 3, 3, 0] [1, 2, 3] (6, 5, 3)\n[9, 9, 9]\nTrue\n"
