"""A proxy that cuts connections."""

from __future__ import annotations

import contextlib
import socket
import threading


class Cutter:
    """Hands connections on to a server, and cuts the answers of the first `cuts` of them behind `behind` bytes."""

    def __init__(self, port: int) -> None:
        self.to, self.cuts, self.behind = port, 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            with contextlib.suppress(OSError):
                client, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()
                continue
            return

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self.to)) as server:
            threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()
            passed = 0
            with contextlib.suppress(OSError):
                while data := server.recv(1 << 16):
                    if self.cuts > 0 and passed + len(data) > self.behind:
                        self.cuts -= 1
                        client.sendall(data[: self.behind - passed])
                        # Closing alone would wait for the thread that reads from the client.
                        client.shutdown(socket.SHUT_RDWR)
                        return
                    passed += len(data)
                    client.sendall(data)

    @staticmethod
    def _pass_on(client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 16):
                server.sendall(data)
