# SPDX-License-Identifier: Apache-2.0
"""Rank 1 sends so many megabytes to rank 0, which tells the Mbit/s at which they came."""

import os
import socket
import sys
import time

size = int(sys.argv[1]) * 1_000_000
address = (os.environ["MASTER_ADDR"], 5000)
if os.environ["RANK"] == "0":
    with socket.create_server(address) as server:
        connection, _ = server.accept()
    received = len(connection.recv(1 << 16))
    # The first moments are faster: the link has saved up for them.
    begin, counted = time.monotonic(), 0
    while piece := connection.recv(1 << 20):
        counted += len(piece)
        if received + counted < size // 4:
            begin, received, counted = time.monotonic(), received + counted, 0
    print(counted * 8 / (time.monotonic() - begin) / 1e6, flush=True)
else:
    for _ in range(100):
        try:
            connection = socket.create_connection(address)
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    connection.sendall(bytes(size))
    connection.close()
