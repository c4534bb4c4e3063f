"""Asks the offline hub what no tidy client would ask."""

import email.message
import http.client
import json
from dataclasses import dataclass
from typing import Any

from raymigrate.runtime.hub import HubServer


@dataclass(frozen=True)
class Answer:
    status: int
    headers: email.message.Message
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(hub: HubServer, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
    """Sends a path as it stands: urllib and clients would tidy `..` away."""
    connection = http.client.HTTPConnection("127.0.0.1", int(hub.url.rsplit(":", 1)[1]), timeout=10)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()
