# SPDX-License-Identifier: Apache-2.0
"""Measures a link: rank 1 sends megabytes to rank 0, which prints the rate in Mbit/s.

Usage: transfer.py MEGABYTES
"""

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
    # The first quarter is not measured: after idle time, the shaper of the link allows a burst.
    begin, counted = time.monotonic(), 0
    while piece := connection.recv(1 << 20):
        counted += len(piece)
        if received + counted < size // 4:
            begin, received, counted = time.monotonic(), received + counted, 0
    print(counted * 8 / (time.monotonic() - begin) / 1e6, flush=True)
else:
    deadline = time.monotonic() + 60
    while True:
        try:
            connection = socket.create_connection(address)
            break
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    connection.sendall(bytes(size))
    connection.close()
