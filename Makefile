# Thin face over Meson and Ninja. Targets:
##  demo             install what is needed, build, start a cluster here, train examples/digits_pytorch on it
##  test             install what is needed, build, run every suite (what CI runs)
##  deps             Debian packages and the Python environments of demo and tests
##  all              the four programs and their man pages in build/ (release); what make without words does
##  everything       these and every program of the tests
##  install          into PREFIX (default /usr/local) below DESTDIR
##  bench            measures the numbers of docs/performance.md
##  test-frameworks  the tests of the library with Hugging Face and Keras, and what they need (part of `make test`)
##  test-horovod     the tests of trials under Horovod, which is built first (about 15 minutes, once); make horovod-deps only builds it
##  asan             AddressSanitizer + UBSan build, unit and API tests on it
##  tsan             ThreadSanitizer build, unit and API tests on it (some minutes; not part of `make test`)
##  agent-released   the agent's tests on the release build (every test run has them on the AddressSanitizer build)
##  clang            the same sources through clang 14, warnings as errors: compiled for the fuzz targets, else read
##  soak             random clusters under virtual time, fresh seeds, for SOAK_SECONDS of CPU time (default 3600)
##  fuzz             every fuzz target for FUZZ_SECONDS (default 60)
##  fuzz-api         requests made from the contract, on an AddressSanitizer build, for FUZZ_API_SECONDS (default 600)
##  memory           makes each allocation of the memory tests fail in turn, on the AddressSanitizer build
##  nightly          long soak, fuzz, fuzz-api, faults, memory, web-memory, agent-released, tsan; writes their outcomes into docs/reliability.md
##  faults           200 kill -9 of each program under load on both engines, full disks, failed writes (FAULT_KILLS=200)
##  soak-launch      one of eight workers of a launcher killed, stopped or out of memory, a thousand times (DET_SOAK_LAUNCH=1000)
##  web-pictures     the ten pictures of docs/guide.md, in docs/pictures
##  web-shots        pictures of every page of the web interface, in both themes and both widths, in build/web-shots
##  web-memory       pages that follow a log and the first page for an hour each: what their heap grows by (DET_WEB_FOLLOW_S=3600)
##  lint             layers and rooms, citations, format of C and Python, types
##  format           formats the C files as .clang-format says
##  contract-status  how much of the REST contract is served
##  cli-status       which commands of det are missing, and how many there are
##  run-cases        CASES=FILE: the conformance cases of one file
##  clean            remove the build directories
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60
FUZZ_API_SECONDS ?= 600
SOAK_SECONDS ?= 3600
FAULT_KILLS ?= 200
DET_SOAK_LAUNCH ?= 1000
DET_WEB_FOLLOW_S ?= 3600
DET_SOAK_TORCHRUN ?= 20
JOBS ?= $(shell nproc)
VENV := .venv
PY := $(VENV)/bin/python
COMPAT := .venv-compat
FRAMEWORKS := .venv-frameworks
TENSORFLOW := .venv-tensorflow
HOROVOD := .venv-horovod
NOTEBOOK := .venv-notebook
AZURITE := tests/support/azurite
BROWSER := tests/browser
comma := ,

.PHONY: all everything deps framework-deps apt-packages test-deps demo test test-frameworks horovod-deps test-horovod bench asan tsan agent-released clang soak fuzz fuzz-api memory nightly faults soak-launch web-shots web-pictures web-memory lint format contract-status cli-status run-cases install clean
.DEFAULT_GOAL := all

build/build.ninja:
	@meson setup build >/dev/null

all: build/build.ninja
	@ninja -C build -j$(JOBS) products

everything: build/build.ninja
	@ninja -C build -j$(JOBS)

apt-packages:
	@packages=$$(tools/missing-packages packaging/debian-packages.txt); \
	[ -z "$$packages" ] || ./run apt-packages

# A changed lock file makes its environment anew: the stamp is younger than that, or there is none. Targets are $(@D)/.stamp.
define new-environment
	@echo "deps: $(1) into $(@D) from $<"
	@/usr/bin/python3 -m venv $(@D)
endef
over-torch = $(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >$$(echo $(@D)/lib/python3*/site-packages)/torch.pth
define install-packages
	@$(@D)/bin/pip install -q --disable-pip-version-check -r $<
	@touch $@
endef

$(VENV)/.stamp: python/requirements/demo.txt
	$(call new-environment,Python environment (PyTorch: about 5 GB, some minutes))
	$(install-packages)

$(VENV)/.stamp-test: python/requirements/test.txt $(VENV)/.stamp
	@echo "deps: test tools into $(@D) from $<"
	$(install-packages)

$(COMPAT)/.stamp: python/requirements/compat.txt
	$(call new-environment,the released client and library)
	$(install-packages)

# On top of $(VENV), whose packages it sees: so tests can tell how it is without them.
$(FRAMEWORKS)/.stamp: python/requirements/frameworks.txt $(VENV)/.stamp-test
	$(call new-environment,Hugging Face$(comma) Lightning$(comma) DeepSpeed and Keras)
	@$(over-torch)
	$(install-packages)

$(TENSORFLOW)/.stamp: python/requirements/tensorflow.txt
	$(call new-environment,Keras and TensorFlow (some minutes))
	$(install-packages)

$(NOTEBOOK)/.stamp: python/environments/notebook.txt
	$(call new-environment,JupyterLab)
	$(install-packages)

# On top of $(VENV), too. The wheel is kept outside of the tree, for the next one that needs it.
$(HOROVOD)/.stamp: python/requirements/horovod.txt $(VENV)/.stamp-test tools/build-horovod
	$(call new-environment,Horovod)
	@$(over-torch)
	@$(@D)/bin/pip install -q --disable-pip-version-check -r $<
	@wheel=$$(tools/build-horovod $(@D)/bin/python) && $(@D)/bin/pip install -q --disable-pip-version-check --no-deps --force-reinstall $$wheel
	@touch $@

# Tests of Azure's storage are skipped, visibly, where there is no npm.
$(AZURITE)/.stamp: $(AZURITE)/package-lock.json
	@command -v npm >/dev/null || { echo "deps: no npm, so no azurite: tests of Azure's storage will be skipped"; exit 0; }; \
	echo "deps: azurite into $(AZURITE)"; npm ci --prefix $(AZURITE) --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
	@touch $@

# So are tests with a browser.
$(BROWSER)/.stamp: $(BROWSER)/package-lock.json
	@command -v npm >/dev/null || { echo "deps: no npm, so no playwright-core: tests with a browser will be skipped"; exit 0; }; \
	echo "deps: playwright-core into $(BROWSER)"; npm ci --prefix $(BROWSER) --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
	@touch $@

horovod-deps: test-deps $(HOROVOD)/.stamp
framework-deps: test-deps $(FRAMEWORKS)/.stamp $(TENSORFLOW)/.stamp

deps: apt-packages $(VENV)/.stamp
test-deps: deps $(VENV)/.stamp-test $(COMPAT)/.stamp $(NOTEBOOK)/.stamp $(AZURITE)/.stamp $(BROWSER)/.stamp

demo: deps all
	@tools/demo

test: framework-deps everything
	@tests/run-all

test-frameworks: framework-deps everything
	@tests/run-all frameworks tensorflow

test-horovod: horovod-deps everything
	@tests/run-all horovod e2e-horovod

bench: test-deps everything
	@$(PY) bench/run.py

build-asan/build.ninja:
	@meson setup build-asan -Db_sanitize=address,undefined -Dbuildtype=debug -Doptimization=1 -Db_lundef=false >/dev/null

asan: build-asan/build.ninja test-deps
	@ninja -C build-asan -j$(JOBS)
	@tests/run-all asan

tsan: test-deps
	@tests/run-all tsan

agent-released: test-deps everything
	@tests/run-all agent

# Everything that clang warns of it knows after reading: so what is no part of a fuzz target is only read, which takes a tenth of the time.
clang: build-fuzz/build.ninja
	@ninja -C build-fuzz -j$(JOBS) fuzz-programs
	@tools/check-clang build-fuzz fuzz-programs $(JOBS)

# A seed says how to see a failure again: build/tests/sim/soak --seed N.
soak: everything
	@build/tests/sim/soak --seconds $(SOAK_SECONDS) --seed $$(date +%s)

build-fuzz/build.ninja:
	@CC=clang-14 meson setup build-fuzz -Dfuzz=true -Dweb=disabled -Dbuildtype=debug -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false >/dev/null

fuzz: build-fuzz/build.ninja
	@ninja -C build-fuzz -j$(JOBS) fuzz-programs
	@tests/fuzz/run $(FUZZ_SECONDS)

memory: build-asan/build.ninja test-deps
	@ninja -C build-asan -j$(JOBS)
	@DET_TEST_EVERY=1 meson test -C build-asan --no-rebuild --verbose --timeout-multiplier 20 memory_common memory_core memory_store memory_store_postgres

# The seed is printed: tests/fuzz_api/fuzz.py --seed N makes the same requests.
fuzz-api: build-asan/build.ninja test-deps
	@ninja -C build-asan -j$(JOBS) determined-master determined-agent determined-task
	@DET_BUILD=build-asan $(PY) tests/fuzz_api/fuzz.py --seconds $(FUZZ_API_SECONDS)

# Everything that takes hours; each part is tried, whatever became of those before it. tools/nightly PART runs one.
nightly: test-deps everything
	@tools/nightly

# DET_TEST_SEED=N repeats the random choices of a run.
faults: test-deps everything
	@DET_FAULT_KILLS=$(FAULT_KILLS) $(PY) -m pytest -q -s -rs -p no:cacheprovider tests/fault
	@DET_FAULT_KILLS=$(FAULT_KILLS) DET_TEST_DB=postgres $(PY) -m pytest -q -s -rs -p no:cacheprovider tests/fault

soak-launch: test-deps
	@cd python && DET_SOAK_LAUNCH=$(DET_SOAK_LAUNCH) DET_SOAK_TORCHRUN=$(DET_SOAK_TORCHRUN) ../$(PY) -m pytest -q -s -p no:cacheprovider \
		tests/launch/test_supervision.py tests/launch/test_launch.py -k "one_of_eight or of_torchrun"

# Every page of the web interface and every building block, in both themes, 1440 and 390 pixels wide.
web-shots: test-deps everything
	@$(PY) tests/web/shots.py build/web-shots

# The guide shows these pictures, so they are committed. Make them again when a page in the guide looks different.
web-pictures: test-deps everything
	@$(PY) tests/web/shots.py --guide docs/pictures

# A page that is open all day must not grow.
web-memory: test-deps everything
	@DET_WEB_FOLLOW_S=$(DET_WEB_FOLLOW_S) $(PY) bench/run.py web-memory

lint: test-deps
	@tools/lint

format: test-deps
	@tools/check-format --write

contract-status:
	@tools/contract-status

cli-status:
	@tools/gen-cli contract/cli.json status

run-cases: everything
	@build/tests/cases/run-cases "$(CASES)" || true # the last line is the verdict, not a word of make

install: build/build.ninja
	@meson configure build -Dprefix=$(abspath $(PREFIX)) >/dev/null
	@ninja -C build -j$(JOBS) products
	@DESTDIR=$(DESTDIR) meson install -C build --quiet --no-rebuild
	@echo "installed into $(DESTDIR)$(PREFIX)"

clean:
	@rm -rf build build-asan build-tsan build-fuzz web/dist
