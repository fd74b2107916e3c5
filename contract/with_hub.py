"""Starts a hub of its own with a few things in it, runs a command against it, and ends with that command's status.

The command finds in its environment where the hub is (MOOT_URL), a key of its owner (MOOT_KEY) and of an agent
(MOOT_AGENT_KEY), and the ids of what there is (MOOT_WORKSPACE, MOOT_CHANNEL, MOOT_MESSAGE and the like).
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

READY_TIMEOUT = 60
# A port that nobody else has, and no limits: those who try everything come often.
SETTINGS = {
    "MOOT_SMARTHOLE__LISTEN": "127.0.0.1:0",
    "MOOT_LIMITS__MESSAGES_PER_SECOND": "0",
    "MOOT_LIMITS__WORKSPACE_MESSAGES_PER_SECOND": "0",
    "MOOT_LIMITS__REQUESTS_PER_SECOND": "0",
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def call(url, method, path, key=None, body=None):
    headers = {"content-type": "application/json"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data=data, method=method, headers=headers)
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


def wait_until_ready(url, hub):
    give_up = time.monotonic() + READY_TIMEOUT
    while time.monotonic() < give_up:
        if hub.poll() is not None:
            sys.exit("the hub ended before it was ready")
        try:
            with urllib.request.urlopen(url + "/readyz"):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
    sys.exit(f"the hub was not ready within {READY_TIMEOUT} s")


def upload(url, workspace, key):
    edge = "contract"
    part = 'Content-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain'
    body = f"--{edge}\r\n{part}\r\n\r\nhello\r\n--{edge}--\r\n".encode()
    headers = {"authorization": f"Bearer {key}", "content-type": f"multipart/form-data; boundary={edge}"}
    request = urllib.request.Request(f"{url}/v1/workspaces/{workspace}/files", data=body, headers=headers)
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())["id"]


def furnish(url):
    """What there is in the hub, as the environment names it."""
    account = {"email": "ann@example.org", "password": "correct horse battery", "name": "ann"}
    owner = call(url, "POST", "/v1/auth/register", body=account)
    workspace, token = owner["workspace_id"], owner["token"]
    at = f"/v1/workspaces/{workspace}"
    # A key does not end with a log-out, and the commands try that, too.
    key = call(url, "POST", f"{at}/members/me/key", token)["api_key"]
    agent = call(url, "POST", f"{at}/members", key, {"name": "codebot", "type": "agent"})
    agent_key = agent["api_key"]
    channel = call(url, "POST", f"{at}/channels", key, {"name": "general"})["id"]
    call(url, "POST", f"{at}/channels/{channel}/members", key, {"member_id": agent["id"]})
    said = call(url, "POST", f"/v1/channels/{channel}/messages", key, {"content": "hello @codebot"})
    task = call(url, "POST", f"{at}/tasks", key, {"title": "Write the release notes"})
    question = {"action": "deploy", "channel_id": channel}
    approval = call(url, "POST", f"{at}/approvals", agent_key, question)
    hook = call(url, "POST", f"{at}/webhooks", key, {"channel_id": channel, "name": "builds"})
    return {
        "MOOT_URL": url,
        "MOOT_KEY": key,
        "MOOT_AGENT_KEY": agent_key,
        "MOOT_WORKSPACE": workspace,
        "MOOT_MEMBER": owner["member_id"],
        "MOOT_AGENT": agent["id"],
        "MOOT_CHANNEL": channel,
        "MOOT_MESSAGE": said["id"],
        "MOOT_TASK": task["id"],
        "MOOT_APPROVAL": approval["id"],
        "MOOT_WEBHOOK": hook["id"],
        "MOOT_FILE": upload(url, workspace, key),
    }


def main():
    binary, command = sys.argv[1], sys.argv[2:]
    url = f"http://127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log")
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": folder} | SETTINGS
        serve = [binary, "serve", "--listen", url.removeprefix("http://"), "--data-dir", str(pathlib.Path(folder, "data"))]
        with log.open("wb") as writer:
            hub = subprocess.Popen(serve, stdout=writer, stderr=writer, env=environment)
        try:
            wait_until_ready(url, hub)
            status = subprocess.run(command, env=os.environ | furnish(url)).returncode
            ended = hub.poll()
        finally:
            hub.terminate()
            hub.wait()
        text = log.read_text(errors="replace")
    if ended is not None or "panicked at" in text:
        sys.exit(f"the hub did not survive:\n{text[-4000:]}")
    sys.exit(status)


main()
