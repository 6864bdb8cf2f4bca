"""An S3-compatible store on this machine."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def object_store() -> Iterator[str]:
    """Yield the URL of an empty bucket, which this process and its children can use."""
    server_module = pytest.importorskip("moto.server", reason="the package moto[server] is not installed")
    pytest.importorskip("s3fs", reason="the package s3fs is not installed")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "tests",
        "AWS_SECRET_ACCESS_KEY": "tests",
        "AWS_DEFAULT_REGION": "us-east-1",
        "NO_PROXY": "127.0.0.1",
    }
    with patch.dict(os.environ, settings):
        import fsspec

        store = fsspec.filesystem("s3")
        store.mkdir("texts")
        try:
            yield "s3://texts"
        finally:
            type(store).clear_instance_cache()
            server.stop()
