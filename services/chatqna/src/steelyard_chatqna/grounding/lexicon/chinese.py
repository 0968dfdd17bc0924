"""Chinese (Han without Kana). `function_words` separate runs, `light_words` whole runs between them."""

import re

from .language import Language
from .words import words

CHINESE = Language(
    code="zh",
    function_words=words(
        """
        可以 应当 必须 需要 以及 的 了 是 在 和 与 及 或 为 也 都 就 而 对 从 到 被 把 这 那 其 之 于 由 并 请 吗 呢 吧
        着 过 每 约 很 有 个
        """
    ),
    light_words=words("分钟 小时 可 应 需 以 使用 什么 多少 进行 如下 答案 包括 称 次"),
    negation_pattern=re.compile(r"不得|不能|不要|不可以?|不|没有?|无|未|切勿|勿|禁止|严禁|并非"),
    negation_idioms=re.compile(r"不锈钢|不同|不仅|不但|不断|不过|不久|不足|无论|无线|未来|无锡|不得不|差不多"),
)
