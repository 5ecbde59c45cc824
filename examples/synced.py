#!/usr/bin/env python3
"""Write to PostgreSQL, wait until the search index has it, read it there.

    synced.py [--api http://127.0.0.1:9101] [--source NAME] [--position LSN] [--timeout MS] [--refresh]

The token of [api] token_env, if there is one, is taken from the variable CDC_API_TOKEN. Needs
`[api] enabled = true`. Exit status: 0 there, 1 not in time, 2 anything else.
"""

import argparse
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request


def wait_until_synced(api, timeout_ms=5000, position=None, source=None, refresh=False, token=None):
    """(True or False, what /synced said). Raises RuntimeError when it cannot tell."""
    asked = {"timeout": timeout_ms, "refresh": str(refresh).lower()}
    if position:
        asked["position"] = position
    if source:
        asked["source"] = source
    request = urllib.request.Request(f"{api}/synced?{urllib.parse.urlencode(asked)}")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=timeout_ms / 1000 + 15) as answer:
            return True, json.load(answer)
    except urllib.error.HTTPError as answer:
        said = answer.read().decode()
        if answer.code == 408:
            return False, json.loads(said)
        raise RuntimeError(f"{answer.code}: {said.strip()}") from None


def main():
    words = argparse.ArgumentParser(description="Wait until the targets have what the source has.")
    words.add_argument("--api", default="http://127.0.0.1:9101")
    words.add_argument("--source")
    words.add_argument("--position")
    words.add_argument("--timeout", type=int, default=5000)
    words.add_argument("--refresh", action="store_true")
    asked = words.parse_args()
    try:
        is_there, said = wait_until_synced(asked.api, asked.timeout, asked.position, asked.source,
                                           asked.refresh, os.environ.get("CDC_API_TOKEN"))
    except (RuntimeError, OSError) as why:
        print(why, file=sys.stderr)
        return 2
    print(json.dumps(said))
    return 0 if is_there else 1


if __name__ == "__main__":
    sys.exit(main())
