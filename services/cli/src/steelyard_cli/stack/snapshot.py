"""The running stack as a snapshot for the laboratory: its embedding service and its retriever are asked."""

from steelyard_contracts.documents import CandidateMetadata, SearchedMultimodalDoc
from steelyard_contracts.embeddings import EmbeddingRequest, EmbeddingResponse
from steelyard_contracts.enums import SearchType, Strategy
from steelyard_contracts.errors import ErrorCode
from steelyard_contracts.retrieval import RetrievalRequest
from steelyard_contracts.vectors import Vector
from steelyard_evidence.errors import RunError
from steelyard_evidence.freeze.snapshot import Retrieved
from steelyard_evidence.manifest import FrozenCandidate, ModelIdentity
from steelyard_evidence.manifest.form import corpus_sha256, text_sha256
from steelyard_models.tokenizer import TextTokenizer

from ..errors import BrokenReplyError, RequestRefusedError
from ..gateway.client import Service


class StackSnapshot:
    """Candidates as the stack retrieves them now, with their vectors. Tokens that it does not tell are counted here."""

    def __init__(
        self, embedding: Service, retriever: Service, tokenizer: TextTokenizer, search_type: SearchType
    ) -> None:
        self._embedding = embedding
        self._retriever = retriever
        self._tokenizer = tokenizer
        self._search_type = search_type
        self.preprocessing = f"as ingested, searched {search_type}"
        self._revisions: set[tuple[str, str]] = set()
        self._model: ModelIdentity | None = None

    @property
    def embedding_model(self) -> ModelIdentity:
        """See Snapshot; known once something was retrieved."""
        if self._model is None:
            raise BrokenReplyError("the embedding service has not been asked yet")
        return self._model

    def retrieve(self, query: str, count: int) -> Retrieved:
        """See Snapshot. Raises RunError for a query that the embedding model can not read whole."""
        try:
            vector = self._embed(query)
        except RequestRefusedError as error:
            if error.problem_code != ErrorCode.TEXT_TOO_LONG:
                raise
            raise RunError(str(error)) from None
        request = RetrievalRequest(
            text=query, embedding=vector, search_type=self._search_type, k=count, reranking_strategy=Strategy.ADAPTIVE
        )
        found = self._retriever.post("/v1/retrieval", request, SearchedMultimodalDoc)
        if found.degraded is not None:
            raise BrokenReplyError(f"the retriever answered degraded ({found.degraded.reason}); nothing was frozen")
        return Retrieved(
            vector,
            [self._candidate(doc.text, entry) for doc, entry in zip(found.retrieved_docs, found.metadata, strict=True)],
        )

    def corpus_revision(self) -> str:
        """See Snapshot: the hash of the revisions of the documents that were retrieved."""
        return corpus_sha256(self._revisions)

    def _embed(self, query: str) -> Vector:
        reply = self._embedding.post(
            "/v1/embeddings", EmbeddingRequest(input=query, encoding_format="base64"), EmbeddingResponse
        )
        if len(reply.data) != 1:
            raise BrokenReplyError(f"the embedding service answered {len(reply.data)} vectors for one text")
        self._model = ModelIdentity(name=reply.model, sha256=reply.model_revision or "unknown")
        try:
            return reply.data[0].vector()
        except ValueError as error:
            raise BrokenReplyError(f"the embedding service: {error}") from None

    def _candidate(self, text: str, entry: CandidateMetadata) -> FrozenCandidate:
        self._revisions.add((entry.document_id, entry.revision))
        return FrozenCandidate(
            id=entry.chunk_id,
            document_id=entry.document_id,
            revision=entry.revision,
            scope=entry.scope,
            source=entry.source,
            char_start=entry.char_start,
            char_end=entry.char_end,
            text=text,
            sha256=text_sha256(text),
            tokens=self._tokenizer.count(text) if entry.tokens is None else entry.tokens,
            scores=entry.scores,
            embedding=entry.chunk_embedding,
        )
