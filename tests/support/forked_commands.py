"""`tokbench` in processes forked from one that has imported it, for sessions of hundreds of short commands.

Importing takes most of the time of such a command. Here a server does it once: for each call it forks a process, which
takes the streams, the folder, the environment and the arguments of the caller, and exits as the command does.
"""

from __future__ import annotations

import ast
import os
import signal
import socket
import sys

KILLED = 128
"""What a shell adds to the number of a signal for the exit code of a process that was killed by it."""


def call(address: str, arguments: list[str]) -> int:
    """Run a command by the server, and return its exit code."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        socket.send_fds(server, [b"\0"], [0, 1, 2])
        folder = os.getcwd()  # noqa: PTH109 -- importing pathlib takes as long as all else here
        server.sendall(repr((arguments, folder, dict(os.environ))).encode(errors="surrogateescape"))
        server.shutdown(socket.SHUT_WR)
        return int(server.recv(16))


def import_everything() -> None:
    """Import what commands import when they run, except the full-screen session."""
    import gc
    import pkgutil
    from importlib import import_module

    import tokbench

    names = (module.name for module in pkgutil.walk_packages(tokbench.__path__, "tokbench."))
    for name in (*names, "sentencepiece", "tiktoken", "tokenizers"):
        if not name.startswith("tokbench.play."):
            import_module(name)
    gc.freeze()


def wait_for_call(address: str) -> socket.socket:
    """Return the connection of a call in a process of its own; end when the standard input does, with its owner."""
    import select

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([listener, sys.stdin], [], [])
            if sys.stdin in ready:
                sys.exit()
            connection, _ = listener.accept()
            if os.fork() == 0:
                return connection
            connection.close()


def take_over(connection: socket.socket) -> None:
    """Fork once more, for the command; this process waits for it and answers the caller with its exit code."""
    _, streams, *_ = socket.recv_fds(connection, 1, 3)
    message = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    arguments, folder, environment = ast.literal_eval(message.decode(errors="surrogateescape"))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if pid := os.fork():
        for stream in streams:
            os.close(stream)  # otherwise the next command of a pipe would wait for its end
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        connection.sendall(str(code if code >= 0 else KILLED - code).encode())
        os._exit(0)
    connection.close()
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        os.dup2(streams[number], number)
        os.close(streams[number])
        buffering = 1 if name == "stderr" else -1
        setattr(sys, name, os.fdopen(number, mode, buffering, "utf-8", "surrogateescape", closefd=False))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = arguments


if __name__ == "__main__":
    role, address, *rest = sys.argv[1:]
    if role == "call":
        sys.exit(call(address, rest))
    import_everything()
    take_over(wait_for_call(address))
    from tokbench.__main__ import main

    main()
