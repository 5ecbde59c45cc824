"""A TCP proxy on 127.0.0.1 that hurts connections on command: delay, stall, cut, reset, half-open."""

import asyncio
import socket
import struct
import threading


class FaultProxy:
    """Forwards to `port`. Everything below may be called from any thread while it runs.

    delay     seconds added to every piece, each way
    stalled   nothing is forwarded and nothing closed: a black hole
    holding   nothing that the client sends is forwarded; answers to what was sent before are
    refusing  new connections are closed at once
    sent      bytes that the client has sent so far
    asked     bytes of them that went on to the server
    """

    def __init__(self, port):
        self.upstream = port
        self.delay = 0.0
        self.stalled = False
        self.holding = False
        self.refusing = False
        self.sent = 0
        self.asked = 0
        self._cut_after = None
        self._pairs = set()
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait()

    def _run(self, ready):
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        self._loop.run_forever()
        server.close()
        self._end(reset=False)
        self._loop.run_until_complete(asyncio.sleep(0.05))

    async def _accept(self, reader, writer):
        if self.refusing:
            writer.close()
            return
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.upstream)
        except OSError:
            writer.close()
            return
        pair = (writer, up_writer)
        self._pairs.add(pair)
        await asyncio.gather(self._pump(reader, up_writer, counted=False),
                             self._pump(up_reader, writer, counted=True))
        self._pairs.discard(pair)
        for side in pair:
            side.close()

    async def _pump(self, reader, writer, counted):
        try:
            while data := await reader.read(65536):
                if not counted:
                    self.sent += len(data)
                while self.stalled or (self.holding and not counted):
                    await asyncio.sleep(0.02)
                if self.delay:
                    await asyncio.sleep(self.delay)
                if counted and self._cut_after is not None:
                    data, left = data[:self._cut_after], self._cut_after - len(data)
                    self._cut_after = max(left, 0)
                    if left <= 0:
                        writer.write(data)
                        await writer.drain()
                        self._cut_after = None
                        self._end(reset=True)
                        return
                writer.write(data)
                await writer.drain()
                if not counted:
                    self.asked += len(data)
        except (OSError, ConnectionError):
            pass
        finally:
            try:
                writer.close()
            except (OSError, RuntimeError):
                pass

    def _end(self, reset):
        for pair in list(self._pairs):
            for side in pair:
                if reset and (raw := side.get_extra_info("socket")):
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                side.transport.abort() if reset else side.close()

    # -- faults -----------------------------------------------------------------------------------

    def cut(self):
        """Resets every open connection now."""
        self._loop.call_soon_threadsafe(self._end, True)

    def cut_after(self, size):
        """Lets the server send `size` more bytes, then resets every connection."""
        self._cut_after = size

    def close(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)


def through(database, proxy):
    """The database's URL, by way of the proxy."""
    return database.url.replace(f":{database.server.port}/", f":{proxy.port}/")
