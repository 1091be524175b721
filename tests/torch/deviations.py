# SPDX-License-Identifier: MIT
"""Where we differ from PyTorch on purpose: each name with its reason.

A case says for which elements of an output a deviation holds; only these are judged by the contract's formula alone.
All others are judged by both PyTorch and the formula."""

REASONS = {
    "elu_backward_nan":
        "a NaN in selfOrResult takes the branch g * scale (contract, operator 2); PyTorch's CPU vector code gives NaN "
        "or takes the other branch",
    "smooth_l1_backward_beta_0":
        "with beta = 0 the gradient at x = 0 is 0, for sign(0) = 0 (contract, operator 1); "
        "aten::smooth_l1_loss_backward gives -g, though PyTorch's smooth_l1_loss with beta = 0 is l1_loss, whose "
        "gradient there is 0 too",
    "target_out_of_range":
        "a target outside [0, C) counts as ignored (contract, operators 3 and 5); PyTorch raises an error, so it is "
        "given ignore_index there",
    "upsample_backward_owner":
        "an input owns the outputs from ceil(i * scale) to ceil((i + 1) * scale), and outputs nobody owns are dropped "
        "(contract, operator 4; PyTorch's CUDA code does so); PyTorch's CPU code adds each output to floor(o / scale), "
        "clamped to the last input, and does not look at the scales when the output is as large as the input or twice "
        "as large",
    "cross_entropy_all_ignored":
        "the mean's gradient with a total weight of 0 is NaN everywhere, as 0 / 0 is (contract, operator 5); PyTorch "
        "gives 0 for ignored rows",
    "cross_entropy_ignored_row":
        "an ignored row is not read and its gradient is exactly 0 (contract, operator 5); PyTorch multiplies the row's "
        "probabilities with 0, which is NaN where one is not finite",
}
