# Written by `python -m penstock.api.generate`.
from penstock.client.testing import Benchmark as Benchmark
from penstock.client.testing import TestCase as TestCase
from penstock.client.testing import get_temp_dir as get_temp_dir
from penstock.client.testing import gpu_device_name as gpu_device_name
from penstock.client.testing import is_built_with_cuda as is_built_with_cuda
from penstock.client.testing import is_gpu_available as is_gpu_available
from penstock.client.testing import main as main
from penstock.cluster.local_cluster import create_local_cluster as create_local_cluster
from penstock.session.gradient_checker import compute_gradient as compute_gradient
from penstock.session.gradient_checker import compute_gradient_error as compute_gradient_error
from unittest import mock as mock

__all__ = [
    "Benchmark", "TestCase", "get_temp_dir", "gpu_device_name", "is_built_with_cuda", "is_gpu_available", "main",
    "create_local_cluster", "compute_gradient", "compute_gradient_error", "mock"
]
