#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs_look.py SITE PICTURES: the site of `make docs` in a browser (Chromium), light and dark, on a desk and a telephone. Fails where a
page is blank, an image did not load, a script fails, the page is wider than its window, or dark is not darker, and where the search
finds nothing. The PICTURES are to be looked at. CHROMIUM names the browser."""

import base64
import functools
import http.server
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

PAGES = ["index", "docs/start", "docs/howto/README", "docs/howto/gpu", "docs/choosing", "docs/hmatrix", "docs/measured/latency",
         "tutorials/command_line", "reference/cpp", "reference/python", "reference/command_line"]
WINDOWS = {"desk": (1280, 1000), "telephone": (400, 800)}
IMAGES = """Promise.all([...document.images].map(image => {
    image.loading = 'eager';
    return image.decode().then(() => null, () => image.src);
})).then(all => all.filter(each => each))"""


class Browser:
    """Chromium without a window, told what to do through a pair of pipes, as of --remote-debugging-pipe: JSON that ends with a zero."""

    def __init__(self, folder):
        (to_read, self.write), (self.read, to_write) = os.pipe(), os.pipe()
        command = [os.environ.get("CHROMIUM", "chromium"), "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={folder}",
                   "--hide-scrollbars", "--disable-gpu", "--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        high = [os.dup(end) for end in (to_read, to_write)]
        while min(high) <= 4:
            high = [os.dup(end) for end in high]

        def ends():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(command, preexec_fn=ends, close_fds=False, stderr=subprocess.DEVNULL)
        for end in (to_read, to_write, *high):
            os.close(end)
        self.number, self.rest, self.session, self.errors = 0, b"", None, []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self("Page.enable")
        self("Runtime.enable")

    def __call__(self, method, **parameters):
        """What the browser answers to a command."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next_message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def next_message(self):
        while b"\0" not in self.rest:
            more = os.read(self.read, 1 << 20)
            if not more:
                raise RuntimeError("the browser ended")
            self.rest += more
        message, _, self.rest = self.rest.partition(b"\0")
        message = json.loads(message)
        if message.get("method") == "Runtime.exceptionThrown":
            details = message["params"]["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        return message

    def value(self, expression):
        """Of an expression in JavaScript, waited for."""
        answer = self("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, expression, seconds=20):
        end = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def open(self, url):
        self("Page.navigate", url=url)
        if not self.wait_for(f"location.href == {json.dumps(url)} && document.readyState == 'complete'"):
            raise RuntimeError(f"{url} does not load")

    def look(self, scheme, size):
        self("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)

    def picture(self, size, scale=1):
        clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": scale}
        return base64.b64decode(self("Page.captureScreenshot", clip=clip)["data"])


def pixels(png):
    """The rows of a PNG of 8 bits a colour as (red, green, blue), without a library."""
    at, packed = 8, b""
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, _, colours = struct.unpack_from(">IIBB", body)
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    step = {2: 3, 6: 4}[colours]
    data, above, stride = zlib.decompress(packed), bytearray(width * step), width * step + 1
    for row in range(height):
        kind, line = data[row * stride], bytearray(data[row * stride + 1:(row + 1) * stride])
        for i in range(len(line)):
            left, up, corner = (line[i - step] if i >= step else 0), above[i], (above[i - step] if i >= step else 0)
            paeth = min((left, up, corner), key=lambda near: abs(left + up - corner - near))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        above = line
        yield from zip(line[::step], line[1::step], line[2::step])


def tones(png):
    """How bright a picture is, from 0 to 1, and what part of it has another tone than most of it."""
    grey = [sum(each) // 3 for each in pixels(png)]
    most = max(set(grey), key=grey.count)
    return sum(grey) / len(grey) / 255, sum(abs(each - most) > 24 for each in grey) / len(grey)


def look_at(browser, address, page, pictures):
    """What is wrong with a page."""
    wrong = []
    for window, size in WINDOWS.items():
        bright = {}
        for scheme in ("light", "dark"):
            what = f"{page} ({scheme}, {window})"
            browser.errors.clear()
            browser.look(scheme, size)
            browser.open(f"{address}/{page}.html")
            wrong += [f"{what}: {image} did not load" for image in browser.value(IMAGES)]
            wrong += [f"{what}: {error}" for error in browser.errors]
            if browser.value("document.documentElement.scrollWidth > innerWidth"):
                wrong.append(f"{what}: wider than its window")
            (pictures / f"{page.replace('/', '_')}_{window}_{scheme}.png").write_bytes(browser.picture(size))
            bright[scheme], other = tones(browser.picture(size, 0.25))
            if other < 0.01:
                wrong.append(f"{what}: blank")
        if not bright["dark"] < bright["light"] - 0.3:
            wrong.append(f"{page} ({window}): dark is not darker than light: {bright}")
    return wrong


def search(browser, address, word, pictures):
    """What is wrong with the search, by a word that is typed on the first page."""
    browser.look("dark", WINDOWS["desk"])
    browser.open(f"{address}/index.html")
    browser.value("document.querySelector('input[name=q]').focus()")
    browser("Input.insertText", text=word)
    browser("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13)
    found = browser.wait_for("location.pathname.endsWith('search.html') && document.querySelector('#search-results li a') != null")
    browser.wait_for("document.querySelector('#search-results li p.context') != null", 5)  # what the picture shows beside the titles
    (pictures / "search.png").write_bytes(browser.picture(WINDOWS["desk"]))
    return [] if found else [f"the search finds nothing for '{word}'"]


def main():
    site, pictures = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    pictures.mkdir(parents=True, exist_ok=True)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        try:
            wrong = [f"there is no page {page}" for page in PAGES if not (site / f"{page}.html").exists()]
            wrong += [line for page in PAGES for line in look_at(browser, address, page, pictures)]
            wrong += search(browser, address, "pipelined", pictures)
        finally:
            browser.process.terminate()
            browser.process.wait()
    print("\n".join(wrong) or f"docs_look.py: {len(PAGES)} pages look well; pictures in {pictures}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
