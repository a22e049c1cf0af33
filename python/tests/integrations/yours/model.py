"""What the tutorials call yours, for the test that runs their blocks: a tiny random model, and a tokenizer for it."""

import torch
from tokenizers import Tokenizer, models
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

torch.manual_seed(0)

tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=Tokenizer(models.BPE({"<|im_start|>": 0, "<|im_end|>": 1}, [])),
    eos_token="<|im_end|>", pad_token="<|im_end|>",
)
model = LlamaForCausalLM(LlamaConfig(
    vocab_size=1 << 16, hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=1,
    num_key_value_heads=1, max_position_embeddings=512, pad_token_id=1, eos_token_id=1,
))
