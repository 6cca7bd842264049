#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records training jobs on one GPU and measures how long their steps take with other settings.

Several NCCL ranks share one GPU under MPS (one_gpu.py). `weft record` records a job with its usual
settings. The same processes then run the job with every other setting, twice, and with the usual
settings in between. So all measured steps share one network, and the repeats show the noise.

    settings_truth.py WEFT OUT [JOB ...]     # on a machine with a GPU; starts its own ranks

Writes for each job OUT/JOB/traces (a folder of `weft record`), OUT/JOB/truth.json and, from a
second, short run, OUT/JOB/memory (a folder of `weft record --memory`).
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import one_gpu

RECORDED = "22..26"
BASE_STEPS = 45  # steps with the usual settings before anything else runs
WARM_UP, TIMED = 6, 12
MEMORY_STEPS = 12
PATIENCE_S = 300


@dataclass
class Setting:
    """How a job differs from its usual settings."""

    ddp: dict[str, Any] = field(default_factory=dict)
    batch: int = 1  # batch size, as a multiple of the usual one
    accumulate: int = 1
    bf16: bool = False
    wire_bf16: bool = False
    recompute: bool = False
    sync: bool = True


SETTINGS = {
    "bucket1": Setting({"bucket_cap_mb": 1}),
    "bucket5": Setting({"bucket_cap_mb": 5}),
    "bucket25": Setting({"bucket_cap_mb": 25}),
    "bucket100": Setting({"bucket_cap_mb": 100}),
    "bucket2000": Setting({"bucket_cap_mb": 2000}),
    "buckets_list": Setting({"bucket_cap_mb_list": [2, 8, 16, 40]}),
    "find_unused": Setting({"find_unused_parameters": True}),
    "no_sync": Setting(sync=False),
    "batch2": Setting(batch=2),
    "accumulate2": Setting(accumulate=2),
    "bf16": Setting(bf16=True),
    "wire_bf16": Setting(wire_bf16=True),
    "recompute": Setting(recompute=True),
}


@dataclass
class Job:
    world: int
    # Returns (model, batch, loss). batch(n) makes a batch of n times the usual size.
    make: Callable[[], Any]
    trainer: bool = False
    without: tuple[str, ...] = ()


def image_model(name: str, images: int, classes: int = 1000) -> Callable[[], Any]:
    def make() -> Any:
        import torch
        import torchvision

        model = getattr(torchvision.models, name)().cuda()

        def batch(factor: int) -> Any:
            n = images * factor
            return (
                torch.randn(n, 3, 224, 224, device="cuda"),
                torch.randint(0, classes, (n,), device="cuda"),
            )

        def loss(ddp: Any, data: Any) -> Any:
            return torch.nn.functional.cross_entropy(ddp(data[0]), data[1])

        return model, batch, loss

    return make


def text_model(kind: str, sequences: int, tokens: int) -> Callable[[], Any]:
    def make() -> Any:
        import torch
        import transformers

        if kind == "bert":
            config = transformers.BertConfig()
            model: Any = transformers.BertForSequenceClassification(config).cuda()
        else:
            config = transformers.GPT2Config(n_positions=tokens)
            model = transformers.GPT2LMHeadModel(config).cuda()

        def batch(factor: int) -> Any:
            ids = torch.randint(0, config.vocab_size, (sequences * factor, tokens), device="cuda")
            labels = ids if kind != "bert" else torch.zeros(len(ids), dtype=torch.long, device="cuda")
            return ids, labels

        def loss(ddp: Any, data: Any) -> Any:
            return ddp(input_ids=data[0], labels=data[1]).loss

        return model, batch, loss

    return make


JOBS = {
    "resnet101-w4": Job(4, image_model("resnet101", 24)),
    "vgg16-w2": Job(2, image_model("vgg16", 24), without=("recompute",)),
    "vit_b_16-w4": Job(4, image_model("vit_b_16", 24)),
    "bert-base-w4": Job(4, text_model("bert", 8, 128)),
    "gpt2-w4": Job(4, text_model("gpt2", 4, 512)),
    "gpt2-hf-w4": Job(4, text_model("gpt2", 4, 512), trainer=True, without=("no_sync", "wire_bf16")),
}


@contextlib.contextmanager
def recomputed(model: Any, on: bool) -> Any:
    """Recomputes the activations of every block of the model in its backward pass."""
    if not on:
        yield
        return
    from torch.utils.checkpoint import checkpoint

    names = {"Bottleneck", "BasicBlock", "EncoderBlock", "BertLayer", "GPT2Block"}
    blocks = [m for m in model.modules() if type(m).__name__ in names]
    usual = [block.forward for block in blocks]
    for block, forward in zip(blocks, usual):
        block.forward = (
            lambda *args, _f=forward, **named: checkpoint(_f, *args, use_reentrant=False, **named)
        )
    try:
        yield
    finally:
        for block in blocks:
            del block.forward


def run_setting(model: Any, batch: Any, loss: Any, setting: Setting, steps: int) -> dict[str, float]:
    """Returns milliseconds per step, over TIMED steps that run back to back, and peak memory."""
    import torch
    import torch.distributed as dist
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
    from torch.nn.parallel import DistributedDataParallel

    ddp = DistributedDataParallel(model, device_ids=[0], **setting.ddp)
    if setting.wire_bf16:
        ddp.register_comm_hook(None, bf16_compress_hook)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-5, momentum=0.9)
    data = batch(setting.batch)
    begin = 0.0
    with recomputed(model, setting.recompute):
        for step in range(steps):
            if step == steps - TIMED:
                torch.cuda.synchronize()
                dist.barrier()
                torch.cuda.synchronize()
                torch.cuda.reset_peak_memory_stats()
                begin = time.perf_counter()
            optimizer.zero_grad(set_to_none=True)
            for turn in range(setting.accumulate):
                last = turn + 1 == setting.accumulate
                with contextlib.nullcontext() if setting.sync and last else ddp.no_sync():
                    with torch.autocast("cuda", torch.bfloat16, enabled=setting.bf16):
                        value = loss(ddp, data)
                    value.backward()
            optimizer.step()
        torch.cuda.synchronize()
    ms = 1e3 * (time.perf_counter() - begin) / TIMED
    return {"step_ms": ms, "peak_bytes": torch.cuda.max_memory_allocated()}


def run_trainer(model: Any, batch: Any, setting: Setting, steps: int) -> dict[str, float]:
    """Does the same as run_setting() with Hugging Face's Trainer, in an ordinary training
    script."""
    import torch
    import transformers

    class Tokens(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 100_000

        def __getitem__(self, i: int) -> Any:
            ids = torch.randint(0, 50257, (512,))
            return {"input_ids": ids, "labels": ids}

    begin = [0.0]

    class Clock(transformers.TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == steps - TIMED:
                torch.cuda.synchronize()
                torch.cuda.reset_peak_memory_stats()
                begin[0] = time.perf_counter()

    arguments = transformers.TrainingArguments(
        output_dir="/tmp/trainer",
        max_steps=steps,
        per_device_train_batch_size=4 * setting.batch,
        gradient_accumulation_steps=setting.accumulate,
        bf16=setting.bf16,
        gradient_checkpointing=setting.recompute,
        ddp_bucket_cap_mb=setting.ddp.get("bucket_cap_mb"),
        ddp_find_unused_parameters=setting.ddp.get("find_unused_parameters"),
        learning_rate=1e-6,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        dataloader_num_workers=0,
    )
    trainer = transformers.Trainer(
        model=model, args=arguments, train_dataset=Tokens(), callbacks=[Clock()]
    )
    trainer.train()
    torch.cuda.synchronize()
    ms = 1e3 * (time.perf_counter() - begin[0]) / TIMED
    if setting.recompute:
        model.gradient_checkpointing_disable()
    return {"step_ms": ms, "peak_bytes": torch.cuda.max_memory_allocated()}


def run_rank(name: str, memory_only: bool) -> None:
    import torch
    import torch.distributed as dist

    job = JOBS[name]
    torch.manual_seed(0)
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", device_id=torch.device("cuda", 0))
    model, batch, loss = job.make()

    def run(setting: Setting, steps: int) -> dict[str, float]:
        gc.collect()
        torch.cuda.empty_cache()
        if job.trainer:
            return run_trainer(model, batch, setting, steps)
        return run_setting(model, batch, loss, setting, steps)

    rank0 = dist.get_rank() == 0
    usual = Setting({"find_unused_parameters": False} if job.trainer else {})
    if memory_only:
        run(usual, MEMORY_STEPS + TIMED)
        os._exit(0) if job.trainer else dist.destroy_process_group()
        return
    results: dict[str, list[dict[str, float]]] = {"usual": [run(usual, BASE_STEPS)]}
    for turn in range(2):
        for position, (key, setting) in enumerate(SETTINGS.items()):
            if key in job.without or (job.trainer and "bucket_cap_mb_list" in setting.ddp):
                continue
            if position % 5 == 0:
                results["usual"].append(run(usual, WARM_UP + TIMED))
            try:
                results.setdefault(key, []).append(run(setting, WARM_UP + TIMED))
            except Exception as error:  # a setting that this job cannot have
                if rank0:
                    print(f"{name} {key}: {error}", file=sys.stderr, flush=True)
            if rank0:
                Path(os.environ["TRUTH"]).write_text(json.dumps(results))
    dist.destroy_process_group()


def launch(name: str, memory_only: bool) -> int:
    """Starts the ranks of a job. `weft record` runs this as its command."""
    environments = one_gpu.environments(JOBS[name].world, 29547)
    words = [sys.executable, __file__, "--rank", name] + (["--memory"] if memory_only else [])
    ranks = [subprocess.Popen(words, env=env) for env in environments]
    ended = one_gpu.end_within(ranks, PATIENCE_S)
    return 0 if ended and all(rank.returncode == 0 for rank in ranks) else 1


def trim(folder: Path) -> None:
    """Removes the steps with other settings from the recording, because a separate job would not
    contain them."""
    for path in folder.glob("*.job.json"):
        job = json.loads(path.read_text())
        job["step_ms"] = job["step_ms"][:BASE_STEPS]
        job["steps_seen"] = min(job["steps_seen"], BASE_STEPS)
        path.write_text(json.dumps(job))


def measure(weft: str, out: Path, names: list[str]) -> None:
    for name in names:
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        begin = time.monotonic()
        env = dict(os.environ, TRUTH=str(folder / "truth.json"))
        words = [weft, "record", "-o", str(folder / "traces"), "--steps", RECORDED, "--"]
        subprocess.run([*words, sys.executable, __file__, "--launch", name], env=env)
        trim(folder / "traces")
        words = [weft, "record", "-o", str(folder / "memory"), "--memory", "--steps", "8..9", "--"]
        subprocess.run([*words, sys.executable, __file__, "--launch", name, "--memory"], env=env)
        if (folder / "truth.json").exists():
            for key, runs in json.loads((folder / "truth.json").read_text()).items():
                times = [run["step_ms"] for run in runs]
                print(f"{name} {key:12} {statistics.median(times):7.1f} ms  {times}", flush=True)
        print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)


def main() -> int:
    words = sys.argv[1:]
    if words[:1] == ["--rank"]:
        run_rank(words[1], "--memory" in words)
        return 0
    if words[:1] == ["--launch"]:
        return launch(words[1], "--memory" in words)
    if len(words) >= 2:
        measure(words[0], Path(words[1]), words[2:] or list(JOBS))
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
