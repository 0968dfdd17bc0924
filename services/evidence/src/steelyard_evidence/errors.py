"""What can go wrong in the laboratory.

Errors::

    LaboratoryError                  anything below; the message names the file or the key, and the value
    ├── InputError                   a file that was given can not be used as it is
    │   ├── DatasetError             an annotated data set or the evaluation data is malformed, or not there
    │   ├── ManifestError            a manifest is malformed
    │   │   └── ManifestHashError    its content is not what its hash says
    │   ├── CacheError               a file of the cache is damaged; without it, it is made again
    │   ├── PolicyError              a policy file names an unknown setting or a value out of its range
    │   └── GatesError               gates.toml is malformed
    ├── InspectionError              survival can not be measured
    │   ├── NoOffsetsError           the tokenizer gives no usable offsets or sequence ids
    │   ├── SpanError                the evidence span does not lie in the document
    │   └── PairLimitError           the pair limit leaves nothing to measure, or the strategy can not reach it
    ├── RunError                     a run can not go on
    │   ├── UnsupportedLengthError   pairs of that length can not be read, by the model or with a query
    │   └── ResumeError              the unfinished run belongs to another manifest or plan
    ├── PromotionError               the previous reranker configuration can not be kept or restored
    └── MissingPartError             an optional package that the command needs is not installed
"""


class LaboratoryError(Exception):
    """Base of every error of the laboratory."""


class InputError(LaboratoryError):
    """A file that was given can not be used as it is."""


class DatasetError(InputError):
    """An annotated data set or the evaluation data is malformed, or not there."""


class ManifestError(InputError):
    """A manifest is malformed."""


class ManifestHashError(ManifestError):
    """The content of a manifest is not what its hash says."""


class CacheError(InputError):
    """A file of the cache is damaged; without it, it is made again."""


class PolicyError(InputError):
    """A policy file names an unknown setting or a value out of its range."""


class GatesError(InputError):
    """gates.toml is malformed."""


class InspectionError(LaboratoryError):
    """Survival can not be measured; it is never reported as no loss."""


class NoOffsetsError(InspectionError):
    """The tokenizer gives no usable offsets or sequence ids."""


class SpanError(InspectionError):
    """The evidence span does not lie in the document, or holds nothing."""


class PairLimitError(InspectionError):
    """The pair limit leaves nothing to measure, or the strategy can not reach it."""


class RunError(LaboratoryError):
    """A run can not go on."""


class UnsupportedLengthError(RunError):
    """Pairs of that length can not be read: the model does not have it, or a query leaves no room for a text."""


class ResumeError(RunError):
    """The unfinished run belongs to another manifest or plan."""


class PromotionError(LaboratoryError):
    """The previous reranker configuration can not be kept or restored."""


class MissingPartError(LaboratoryError):
    """An optional package that the command needs is not installed."""
