#!/usr/bin/env python3
"""make_log_mel.py OUT.safetensors: transformers' Whisper features of the signal in tests/ops/log_mel_test.cpp, (150, 80): one
second, mirrored at its beginning, and the silence after it."""
import sys

import numpy as np
from transformers import WhisperFeatureExtractor

import safetensors_file

t = np.arange(16000) / 16000
signal = 0.3 * np.sin(2 * np.pi * (200 * t + 900 * t * t)) + 0.1 * np.sin(2 * np.pi * 3000 * t)
features = WhisperFeatureExtractor()(signal.astype(np.float32), sampling_rate=16000, return_tensors="np").input_features[0]
safetensors_file.write(sys.argv[1], [("features", "F32", features.T[:150])])
