"""What servers of tests have in common that write bytes of their own to each connection."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self


class Listener:
    """Accepts connections while it is entered, and gives each to :meth:`serve`, in a thread of its own. ``ended``: set
    at the end.
    """

    def __init__(self) -> None:
        self.ended = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self.ended.is_set():
                client, _ = self._socket.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError, ValueError), client:
            self.serve(client)

    def serve(self, client: socket.socket) -> None:
        """Reads the requests of a connection and answers them; the connection ends with it."""
        raise NotImplementedError
