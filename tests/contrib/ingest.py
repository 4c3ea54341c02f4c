#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A server that accepts posted profiles, like Pyroscope's /ingest.

usage: ingest.py DIRECTORY

Writes its port to the file `port` in the directory, and each request to the files `request`, as JSON, and `body`. The
status is 200, or 500 while the file `refuse` exists.
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
