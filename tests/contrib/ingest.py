#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A server that takes what is posted to it, as Pyroscope does at /ingest.

usage: ingest.py DIRECTORY     writes there: `port`, then of each request `request`, as JSON, and `body`. It answers 200,
or 500 while there is a file `refuse`.
"""
import http.server
import json
import os
import sys
import urllib.parse


class Ingest(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        url = urllib.parse.urlsplit(self.path)
        with open("body", "wb") as file:
            file.write(body)
        with open("request", "w", encoding="utf-8") as file:
            json.dump({"path": url.path, "query": dict(urllib.parse.parse_qsl(url.query, strict_parsing=True)),
                       "type": self.headers["Content-Type"], "authorization": self.headers["Authorization"]}, file)
        self.send_response(500 if os.path.exists("refuse") else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


def main():
    os.chdir(sys.argv[1])
    server = http.server.HTTPServer(("127.0.0.1", 0), Ingest)
    with open("port.new", "w", encoding="utf-8") as file:
        file.write(str(server.server_port))
    os.rename("port.new", "port")
    server.serve_forever()


if __name__ == "__main__":
    main()
