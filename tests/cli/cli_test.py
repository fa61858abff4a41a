"""Drives the warpfold binary: exit codes, what goes to stdout and stderr, JSON, Ctrl-C, repeatability.

    cli_test.py usage BINARY          needs no model
    cli_test.py embed BINARY          these run the tiny models of tests/models
    cli_test.py translate BINARY
    cli_test.py explain BINARY
    cli_test.py whisper BINARY MODEL  these exit with 77, which ctest shows as skipped, when MODEL is absent
    cli_test.py model BINARY MODEL
"""

import difflib
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SKIPPED = 77
BINARY = MODEL = None


def warpfold(*arguments, stdin="", timeout=120):
    return subprocess.run([BINARY, *map(str, arguments)], input=stdin.encode(), capture_output=True, timeout=timeout)


class Case(unittest.TestCase):
    def expect(self, code, *arguments, **options):
        """Runs a command that is to end with this exit code; returns stdout and stderr."""
        result = warpfold(*arguments, **options)
        out, err = result.stdout.decode(), result.stderr.decode()
        self.assertEqual(result.returncode, code, f"{arguments}\n{out}\n{err}")
        self.assertNotIn("\r", err, "a progress bar without a terminal")
        return out, err

    def expect_error(self, code, *arguments, message, **options):
        out, err = self.expect(code, *arguments, **options)
        self.assertEqual(out, "")
        self.assertIn(message, err)

    def expect_json(self, *arguments, **options):
        out, _ = self.expect(0, *arguments, "--json", **options)
        self.assertEqual(out.count("\n"), 1)
        return json.loads(out)


class Usage(Case):
    def test_without_a_command(self):
        out, err = self.expect(2)
        self.assertEqual(out, "")
        for command in ("run", "chat", "embed", "translate", "transcribe", "explain", "inspect", "tokenize", "perplexity", "bench", "doctor"):
            self.assertIn(f"\n  {command}", err)

    def test_help(self):
        self.assertIn("usage:", self.expect(0, "--help")[0])
        self.assertIn("without a chat template, unless --chat", " ".join(self.expect(0, "run", "--help")[0].split()))
        for command in ("chat", "embed", "translate", "transcribe", "explain", "inspect", "tokenize", "perplexity", "bench", "doctor"):
            out, err = self.expect(0, command, "--help")
            self.assertIn("--help", out)
            self.assertEqual(err, "")

    def test_version(self):
        self.assertRegex(self.expect(0, "--version")[0], r"^warpfold \d+\.\d+\.\d+\n$")

    def test_wrong_usage(self):
        self.expect_error(2, "fly", message="no command 'fly'")
        self.expect_error(2, "run", message="required")
        self.expect_error(2, "run", "m.gguf", message="")  # no prompt
        self.expect_error(2, "run", "m.gguf", "-p", "x", "--tokens", "1", message="")
        self.expect_error(2, "run", "m.gguf", "-p", "x", "--frobnicate", message="--frobnicate")
        self.expect_error(2, "run", "m.gguf", "-p", "x", "--max-tokens", "-1", message="--max-tokens")
        self.expect_error(2, "run", "m.gguf", "-p", "x", "--max-tokens", "many", message="--max-tokens")
        self.expect_error(2, "run", "m.gguf", "-p", "x", "--threads", "0", message="--threads")
        self.expect_error(2, "run", "m.gguf", "-p", "x", "--kv", "int4", message="--kv")
        self.expect_error(2, "run", "m.gguf", "-p", "x", "--system", "y", message="--system needs --chat")
        self.expect_error(2, "run", "m.gguf", "--tokens", "1,2", "--chat", message="--chat needs text")
        self.expect_error(2, "bench", message="subcommand")
        self.expect_error(2, "bench", "gpu", "m.gguf", message="")

    def test_sampling_options_are_checked_before_the_model_is_loaded(self):
        for option, value, message in (("--temperature", "nan", "temperature is nan"), ("--top-p", "1.5", "top_p is 1.5"),
                                       ("--temperature", "-1", "temperature is -1"), ("--min-p", "nan", "min_p is nan"),
                                       ("--repetition-penalty", "0", "repetition_penalty is 0")):
            self.expect_error(2, "run", "absent.gguf", "-p", "x", option, value, message=message)

    def test_files_that_cannot_be_used(self):
        with tempfile.TemporaryDirectory() as folder:
            garbage = pathlib.Path(folder, "garbage.gguf")
            garbage.write_bytes(b"not a model at all")
            for file in (pathlib.Path(folder, "absent.gguf"), garbage, pathlib.Path(folder)):
                self.expect_error(1, "run", file, "-p", "x", message=str(file))
                self.expect_error(1, "chat", file, message=str(file))
                self.expect_error(1, "perplexity", file, "/dev/null", message=str(file))
                self.expect_error(1, "bench", "cpu", file, message=str(file))

    def test_doctor(self):
        with tempfile.TemporaryDirectory() as folder:
            out, err = self.expect(0, "doctor", "--models", folder)
            self.assertEqual(err, "")
            for row in ("processors", "SIMD", "memory", "GPU", "model", "next"):
                self.assertRegex(out, rf"(?m)^{row} ")
            self.assertIn("none in", out)
            self.assertIn("make demo", out)
            pathlib.Path(folder, "tiny.gguf").write_bytes(b"1234")
            self.assertIn("tiny.gguf", self.expect(0, "doctor", "--models", folder)[0])


MODELS = pathlib.Path(__file__).parent.parent / "models"  # tiny ones


class Embed(Case):
    ENCODER = MODELS / "fixtures" / "bert"
    TEXTS = ("The cat sat.", "the CAT sat .", "unaffable dogs")

    def test_matrix(self):
        out, _ = self.expect(0, "embed", self.ENCODER, *self.TEXTS)
        rows = [line.split(None, 3) for line in out.splitlines()]
        self.assertEqual([row[3] for row in rows], list(self.TEXTS))
        matrix = [[float(x) for x in row[:3]] for row in rows]
        self.assertEqual([matrix[i][i] for i in range(3)], [1, 1, 1])
        self.assertEqual(matrix[0][1], 1, "the same tokens")
        self.assertLess(matrix[0][2], 0.999)

    def test_json(self):
        result = self.expect_json("embed", self.ENCODER, *self.TEXTS)
        self.assertEqual(set(result), {"embeddings", "tokens", "cosine"})
        self.assertEqual(result["tokens"][0], [2, 5, 7, 9, 16, 3])
        self.assertEqual([len(e) for e in result["embeddings"]], [32] * 3)
        product = sum(x * y for x, y in zip(result["embeddings"][0], result["embeddings"][2]))
        self.assertAlmostEqual(product, result["cosine"][0][2], places=5)

    def test_a_text_on_each_line(self):
        expected = self.expect_json("embed", self.ENCODER, *self.TEXTS)
        lines = "\n".join(self.TEXTS) + "\n\n"
        self.assertEqual(self.expect_json("embed", self.ENCODER, "-f", "-", "--batch", 1, stdin=lines)["tokens"],
                         expected["tokens"])
        self.expect_error(1, "embed", self.ENCODER, "-f", "-", stdin="\n\n", message="no lines to embed")

    def test_wrong_usage(self):
        self.expect_error(2, "embed", self.ENCODER, message="nothing to embed")
        self.expect_error(2, "embed", self.ENCODER, "a", "-f", "-", message="excludes")
        self.expect_error(1, "embed", "/nonexistent", "a", message="/nonexistent/config.json")


class Translate(Case):
    REVERSE = MODELS / "reverse"

    def test_a_line_for_each_text(self):
        self.assertEqual(self.expect(0, "translate", self.REVERSE, "deep learning", "a b"), ("gninrael peed\nb a\n", ""))
        self.assertEqual(self.expect(0, "translate", self.REVERSE, "-f", "-", "--beams", 1, stdin="deep\n\nlearning\n")[0],
                         "peed\ngninrael\n")

    def test_n_best(self):
        result = self.expect_json("translate", self.REVERSE, "deep", "--n-best", 3)["translations"]
        self.assertEqual([len(source) for source in result], [3])
        scores = [t["score"] for t in result[0]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertEqual((result[0][0]["text"], result[0][0]["tokens"], result[0][0]["ended"]), ("peed", [19, 8, 8, 7], True))
        lines = self.expect(0, "translate", self.REVERSE, "deep", "--n-best", 3)[0].splitlines()
        self.assertEqual([line.split(None, 1)[1] for line in lines], [t["text"] for t in result[0]])

    def test_repetitions_are_timed(self):
        self.assertEqual(len(self.expect_json("translate", self.REVERSE, "deep", "--repeat", 3)["seconds"]), 3)

    def test_tokens_and_lengths(self):
        self.assertEqual(self.expect(0, "translate", self.REVERSE, "--tokens", "7,8,8,19,1", "--max-tokens", 2)[0], "19 8\n")
        self.assertFalse(self.expect_json("translate", self.REVERSE, "deep", "--max-tokens", 2)["translations"][0][0]["ended"])

    def test_wrong_usage(self):
        self.expect_error(2, "translate", self.REVERSE, message="nothing to translate")
        self.expect_error(2, "translate", self.REVERSE, "a", "--temperature", 1, message="--temperature needs --beams 1")
        self.expect_error(2, "translate", self.REVERSE, "a", "--beams", 0, message="--beams")
        self.expect_error(1, "translate", self.REVERSE, "a", "--n-best", 5, message="n_best is 5, expected 1 to 4 beams")
        self.expect_error(1, "translate", self.REVERSE, "a" * 64, message="65 tokens")
        self.expect_error(1, "translate", MODELS / "fixtures" / "bart", "a", message="tokenizer.json")
        self.expect_error(1, "translate", MODELS / "fixtures" / "llama", "a", message="\"llama\" is not an encoder-decoder")

    def test_run_picks_by_architecture(self):
        self.assertEqual(self.expect(0, "run", self.REVERSE, "-p", "deep learning")[0], "gninrael peed\n")
        self.assertEqual(self.expect(0, "run", self.REVERSE, "--tokens", "7,8,8,19,1", "--max-tokens", 2)[0], "19 8\n")
        result = self.expect_json("run", self.REVERSE, "-p", "deep")
        self.assertEqual((result["text"], result["finish_reason"]), ("peed", "stop"))
        beams = self.expect_json("run", self.REVERSE, "-p", "deep", "--beams", 3, "--n-best", 2)["beams"]
        self.assertEqual((len(beams), beams[0]["text"]), (2, "peed"))
        self.expect_error(2, "run", self.REVERSE, "-p", "a", "--chat", message="takes no --chat")
        self.expect_error(2, "run", MODELS / "fixtures" / "bert", "-p", "a", message="use `warpfold embed`")
        self.expect_error(2, "run", MODELS / "fixtures" / "whisper", "-p", "a", message="use `warpfold transcribe`")

    def test_run_with_beams(self):
        llama = MODELS / "fixtures" / "llama"
        result = self.expect_json("run", llama, "--tokens", "3,4,5", "--beams", 3, "--n-best", 2, "--max-tokens", 6)["beams"]
        self.assertEqual(len(result), 2)
        self.assertGreaterEqual(result[0]["score"], result[1]["score"])
        lines = self.expect(0, "run", llama, "--tokens", "3,4,5", "--beams", 3, "--max-tokens", 6)[0].splitlines()
        self.assertEqual(lines, [" ".join(map(str, result[0]["tokens"]))])
        self.expect_error(2, "run", llama, "--tokens", "3", "--beams", 3, "--temperature", 1, message="--beams cannot")
        self.expect_error(2, "run", llama, "--tokens", "3", "--n-best", 3, message="--n-best needs --beams")


class Explain(Case):
    def page(self, model, text):
        """The data in the page that explains a text."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.html")
            self.assertEqual(self.expect(0, "explain", model, "-p", text, "--html", path), ("", ""))
            page = pathlib.Path(path).read_text()
        self.assertNotIn("http", page, "the page needs nothing from elsewhere")
        self.assertEqual(page.count("</script>"), 1)
        return json.loads(re.search(r"const data = (.*);", page).group(1))

    def check_maps(self, layers, heads, queries, keys, maps):
        self.assertEqual([len(m) for m in maps], [heads] * layers)
        for rows in (rows for layer in maps for rows in layer):
            self.assertEqual([len(row) for row in rows], [keys] * queries)
            for row in rows:
                self.assertAlmostEqual(sum(row) / 1000, 1, delta=0.0005 * keys + 1e-9)

    def test_encoder_decoder(self):
        data = self.page(MODELS / "reverse", "ab </script>")
        self.assertEqual(data["text"].split(" → ")[0], "ab </script>")
        data = self.page(MODELS / "reverse", "deep")
        encoder, decoder = data["parts"]
        self.assertEqual([t["text"] for t in encoder["tokens"]], ["d", "e", "e", "p", "</s>"])
        self.assertEqual([t["text"] for t in decoder["tokens"]], ["<pad>", "p", "e", "e", "d"])
        self.check_maps(2, 4, 5, 5, encoder["maps"][0]["layers"])
        own, cross = decoder["maps"]
        self.check_maps(2, 4, 5, 5, own["layers"])
        self.assertTrue(all(w == 0 for layer in own["layers"] for rows in layer for i, row in enumerate(rows) for w in row[i + 1:]))
        self.check_maps(2, 4, 5, 5, cross["layers"])
        self.assertEqual([len(part["norms"]) for part in data["parts"]], [3, 3])
        self.assertEqual(data["next"][0]["text"], "</s>")
        self.assertGreater(data["next"][0]["probability"], 0.9)
        # The model reads backwards: some head of the last layer looks at the letter that comes next.
        best = max(sum(rows[i][3 - i] for i in range(4)) / 4000 for rows in cross["layers"][-1])
        self.assertGreater(best, 0.5)

    def test_encoder(self):
        data = self.page(MODELS / "fixtures" / "bert", "The cat sat.")
        (encoder,) = data["parts"]
        self.assertEqual(len(encoder["tokens"]), 6)
        self.check_maps(2, 4, 6, 6, encoder["maps"][0]["layers"])
        self.assertNotIn("next", data)

    def test_wrong_usage(self):
        self.expect_error(2, "explain", MODELS / "reverse", message="required")
        self.expect_error(1, "explain", MODELS / "reverse", "-p", "a", "--html", "/nonexistent/page", message="/nonexistent/page")
        self.expect_error(1, "explain", MODELS / "fixtures" / "bart", "-p", "a", "--html", "/tmp/x", message="tokenizer.json")


class Whisper(Case):
    """Against transformers' Whisper, token for token (tests/reference/make_speech.py)."""
    FOLDER = pathlib.Path(__file__).parent / "speech"
    SPEECH = FOLDER / "speech.flac"
    EXPECTED = json.loads((FOLDER / "expected.json").read_text())

    def test_transcribe(self):
        result = self.expect_json("transcribe", MODEL, self.SPEECH)
        self.assertEqual(result["tokens"], self.EXPECTED["tokens"])
        self.assertEqual(result["language"], "en")
        self.assertEqual(len(result["segments"]), 1)
        self.assertAlmostEqual(result["speech_seconds"], self.EXPECTED["seconds"], places=6)

    def test_timestamps(self):
        result = self.expect_json("transcribe", MODEL, self.SPEECH, "--timestamps", "--language", "en")
        self.assertEqual(result["tokens"], self.EXPECTED["timestamp_tokens"])
        times = [t for s in result["segments"] for t in (s["start"], s["end"])]
        self.assertEqual(times, sorted(times))
        self.assertEqual([round(t / 0.02) for t in times], [t - 50364 for t in result["tokens"] if t >= 50364])

    def test_spoken_by_espeak(self):
        if not shutil.which("espeak-ng"):
            self.skipTest("espeak-ng is absent")
        with tempfile.TemporaryDirectory() as folder:  # 22 kHz, then more than a window of it
            path = os.path.join(folder, "speech.wav")
            text = ("The north wind and the sun disputed which was the stronger, when a traveller came along, wrapped in a warm "
                    "cloak. They agreed that the one who first made the traveller take off his cloak should be considered "
                    "stronger than the other. Then the north wind blew as hard as he could, but the more he blew, the more "
                    "closely did the traveller fold his cloak around him. At last the north wind gave up the attempt. Then the "
                    "sun shone out warmly, and immediately the traveller took off his cloak. And so the north wind was obliged "
                    "to confess that the sun was the stronger of the two. The moral is that gentle persuasion is often better "
                    "than force. People who hear this story for the first time usually agree with the sun.")
            subprocess.run(["espeak-ng", "-v", "en-us", "-w", path, text], check=True)
            out, err = self.expect(0, "transcribe", MODEL, path, "--timestamps")
        heard = re.findall("[a-z]+", re.sub(r"\[.*?\]", "", out).lower())
        said = re.findall("[a-z]+", text.lower())
        self.assertGreaterEqual(difflib.SequenceMatcher(None, heard, said, autojunk=False).ratio(), 0.8, out)
        ends = [float(t) for t in re.findall(r"- +([0-9.]+)\]", out)]
        self.assertEqual(ends, sorted(ends))
        self.assertGreater(ends[-1], 32, "more than one window")
        self.assertRegex(err, r"\[en \| \d+\.\d s of speech in \d+\.\d s\]")

    def test_what_it_refuses(self):
        self.expect_error(1, "transcribe", MODEL, "/nonexistent.wav", message="/nonexistent.wav: No such file")
        self.expect_error(1, "transcribe", MODEL, __file__, message="cli_test.py")
        self.expect_error(1, "transcribe", MODEL, self.SPEECH, "--language", "xx", message='language "xx"')
        self.expect_error(1, "transcribe", MODELS / "reverse", self.SPEECH, message="does not hear")


class Model(Case):
    PROMPT = "The capital of France is"

    def test_run_streams_text_on_stdout_and_speed_on_stderr(self):
        out, err = self.expect(0, "run", MODEL, "-p", self.PROMPT, "--max-tokens", 2)
        self.assertEqual(out, " Paris.\n")
        self.assertRegex(err, r"length \|.* prefill 5 tokens, [\d.]+ tok/s \| decode 1 tokens, [\d.]+ tok/s"
                              r" \| [\d.]+ GB/s of weights, \d+% of the memory's [\d.]+")

    def test_greedy_continuation(self):
        result = self.expect_json("run", MODEL, "-p", "1 2 3 4 5 6", "--max-tokens", 24)
        self.assertTrue(result["text"].startswith(" 7 8 9 10 11 12 13 14 15"[:len(result["text"])]), result["text"])

    def test_json(self):
        result = self.expect_json("run", MODEL, "-p", self.PROMPT, "--max-tokens", 3)
        self.assertEqual(set(result), {"tokens", "text", "finish_reason", "seed", "timings"})
        self.assertEqual(len(result["tokens"]), 3)
        self.assertTrue(all(isinstance(token, int) for token in result["tokens"]))
        self.assertTrue(result["text"].startswith(" Paris."))
        self.assertEqual(result["finish_reason"], "length")
        self.assertEqual(result["timings"]["prefill_tokens"], 5)
        self.assertEqual(result["timings"]["decode_steps"], 2)
        for name in ("load_seconds", "prefill_seconds", "decode_tokens_per_second", "memory_gb_per_second"):
            self.assertGreater(result["timings"][name], 0, name)

    def test_exactly_so_many_tokens(self):
        for n in (0, 1, 2):
            self.assertEqual(len(self.expect_json("run", MODEL, "-p", self.PROMPT, "--max-tokens", n)["tokens"]), n)

    def test_the_same_seed_gives_the_same_text(self):
        def text(seed):
            return self.expect_json("run", MODEL, "-p", "Once upon a time", "--max-tokens", 24, "--temperature", 1.2,
                                    "--top-p", 0.95, *(["--seed", seed] if seed is not None else []))
        first = text(7)
        self.assertEqual(first["text"], text(7)["text"])
        self.assertNotEqual(first["text"], text(8)["text"])
        drawn = text(None)
        self.assertEqual(drawn["text"], text(drawn["seed"])["text"])

    def test_stop_string(self):
        result = self.expect_json("run", MODEL, "-p", self.PROMPT, "--max-tokens", 50, "--stop", "ris.")
        self.assertEqual((result["text"], result["finish_reason"]), (" Pa", "stop"))

    def test_prompt_from_file_stdin_and_ids(self):
        expected = self.expect_json("run", MODEL, "-p", self.PROMPT, "--max-tokens", 4)["tokens"]
        with tempfile.NamedTemporaryFile() as file:
            file.write(self.PROMPT.encode())
            file.flush()
            self.assertEqual(self.expect_json("run", MODEL, "-f", file.name, "--max-tokens", 4)["tokens"], expected)
        self.assertEqual(self.expect_json("run", MODEL, "-f", "-", "--max-tokens", 4, stdin=self.PROMPT)["tokens"],
                         expected)
        ids = json.loads(self.expect(0, "tokenize", MODEL, "--text", self.PROMPT, "--json")[0])["tokens"]
        self.assertEqual(self.expect_json("run", MODEL, "--tokens", ",".join(map(str, ids)), "--max-tokens", 4)["tokens"],
                         expected)

    def test_impossible_requests(self):
        self.expect_error(1, "run", MODEL, "-p", self.PROMPT, "--context", 3,
                          message="the prompt has 5 tokens, the context holds 3")
        self.expect_error(1, "run", MODEL, "-p", self.PROMPT, "--context", 10**9, message="is not possible")
        self.expect_error(1, "run", MODEL, "-p", "", message="the prompt has no tokens")
        self.expect_error(1, "run", MODEL, "--tokens", "5,999999", message="token 999999 at position 1")
        self.expect_error(1, "run", MODEL, "--tokens=-1", message="token -1 at position 0")
        self.expect_error(1, "run", MODEL, "-f", "/nonexistent", message="/nonexistent: No such file")

    def test_the_context_ends_an_answer(self):
        result = self.expect_json("run", MODEL, "-p", self.PROMPT, "--context", 8)
        self.assertEqual((len(result["tokens"]), result["finish_reason"]), (3, "length"))

    def test_int8_cache_and_threads(self):
        result = self.expect_json("run", MODEL, "-p", self.PROMPT, "--max-tokens", 2, "--kv", "int8", "--threads", 1)
        self.assertEqual(result["text"], " Paris.")

    def start_and_interrupt(self, *arguments, delay=None):
        """Stops a long answer after `delay` seconds or its first byte; gives stdout, stderr and when that byte came."""
        start = time.monotonic()
        process = subprocess.Popen([BINARY, "run", MODEL, "-p", "1 2 3 4 5 6", "--max-tokens", "8000", *arguments],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = b""
        if delay is None:
            first = os.read(process.stdout.fileno(), 1)
        else:
            time.sleep(delay)
        seconds = time.monotonic() - start
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        return (first + out).decode(), err.decode(), seconds

    def test_ctrl_c_ends_with_what_was_produced(self):
        out, err, seconds = self.start_and_interrupt()
        self.assertTrue(" 7 8 9".startswith(out.rstrip("\n")[:6]), out)
        self.assertIn("[cancelled |", err)

        out, _, _ = self.start_and_interrupt("--json", delay=3 * seconds + 0.5)
        result = json.loads(out)
        self.assertEqual(result["finish_reason"], "cancelled")
        self.assertTrue(result["text"].startswith(" 7"))

    def test_chat_in_a_pipe(self):
        arguments = ("chat", MODEL, "--temperature", 0, "--max-tokens", 12)
        one, _ = self.expect(0, *arguments, stdin="What is the capital of France?\n")
        two, err = self.expect(0, *arguments, stdin="What is the capital of France?\n\nAnd of Italy?\n")
        self.assertGreater(len(one.strip()), 0)
        self.assertTrue(two.startswith(one))
        self.assertGreater(len(two), len(one) + 1)
        self.assertIn("tok/s", err)
        self.assertNotIn("<|im_", two)

    def test_progress_on_a_terminal_makes_way_for_the_text(self):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([BINARY, "run", MODEL, "-f", "-", "--max-tokens", "2"], stdin=subprocess.PIPE,
                                   stdout=theirs, stderr=theirs)
        os.close(theirs)
        process.stdin.write(b"one two three " * 1000)
        process.stdin.close()
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        self.assertEqual(process.wait(), 0)
        self.assertRegex(shown, rb"\rreading the prompt \[#+\.+\] +\d+%  \d+ tokens  \d+ tokens/s  \d+:\d\d left")
        text = shown[shown.rindex(b"\r\033[K") + 4:]  # the bar is gone before the text comes
        self.assertRegex(text, rb"^[^\[]+\[length \| load")

    def test_run_with_chat_template(self):
        result = self.expect_json("run", MODEL, "--chat", "-p", "What is 1+1? Answer with a number.", "--max-tokens", 64)
        self.assertEqual(result["finish_reason"], "stop")
        self.assertIn("2", result["text"])

    def test_a_message_too_long_leaves_the_chat_usable(self):
        out, err = self.expect(1, "chat", MODEL, "--context", 64, "--max-tokens", 4, "--temperature", 0,
                               stdin="word " * 100 + "\nHi\n")
        self.assertIn("the context holds 64", err)
        self.assertGreater(len(out.strip()), 0)

    def test_explain(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.html")
            self.expect(0, "explain", MODEL, "-p", self.PROMPT, "--html", path)
            data = json.loads(re.search(r"const data = (.*);", pathlib.Path(path).read_text()).group(1))
        self.assertEqual(data["next"][0]["text"], " Paris")
        self.assertEqual(len(data["parts"][0]["maps"][0]["layers"]), 30)
        self.expect_error(1, "explain", MODEL, "-p", "word " * 50, "--html", "/tmp/x", message="32")

    def test_perplexity(self):
        text = "The quick brown fox jumps over the lazy dog. " * 20
        result = self.expect_json("perplexity", MODEL, "-", "--context", 64, "--chunks", 2, stdin=text)
        self.assertEqual((result["chunks"], result["scored"]), (2, 2 * 31))
        self.assertGreater(result["perplexity"], 1)
        self.assertLess(result["perplexity"], 3)
        out, _ = self.expect(0, "perplexity", MODEL, "-", "--context", 64, "--chunks", 2, stdin=text)
        self.assertRegex(out, r"^perplexity [\d.]+ \+/- [\d.]+ \(2 chunks of 64 tokens, 62 scored\)\n$")
        self.expect_error(1, "perplexity", MODEL, "-", stdin="short", message="one chunk needs 512")

    def test_bench(self):
        result = self.expect_json("bench", "cpu", MODEL, "--prompt", 16, "--tokens", 4, "--repeat", 3)
        self.assertEqual(result["prefill_tokens_per_second"]["tokens"], 16)
        self.assertEqual(len(result["decode_tokens_per_second"]["runs"]), 3)
        self.assertIn("tok/s", self.expect(0, "bench", "cpu", MODEL, "--prompt", 8, "--tokens", 2, "--repeat", 1)[0])


if __name__ == "__main__":
    suite, BINARY, *rest = sys.argv[1:]
    if suite in ("model", "whisper"):
        MODEL, = rest
        if not os.path.exists(MODEL):
            print(f"skipped: {MODEL} is absent; make demo or make models fetches it")
            sys.exit(SKIPPED)
    case = {"usage": Usage, "embed": Embed, "translate": Translate, "explain": Explain, "whisper": Whisper, "model": Model}[suite]
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromTestCase(case))
    sys.exit(not result.wasSuccessful())
