"""Shared fixtures."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from simulated_array import SimulatedArray  # noqa: E402


@pytest.fixture(scope="module")
def array():
    """An array with two data addresses, whose management lists have two items per page."""
    with SimulatedArray(
        "--page-items", "2",
        "--data", "127.0.1.1,subnet=fast,mtu=9000,s3-tls=0",
        "--data", "127.0.2.1,subnet=slow,mtu=1500",
        "--data", "127.0.3.1,subnet=off,disabled",
        "--s3-domain", "s3.example.test",
    ) as running:
        yield running
