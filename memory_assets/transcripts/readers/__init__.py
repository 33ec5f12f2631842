"""Readers of agents whose format takes one module each; larger ones have packages beside this."""

from memory_assets.transcripts.reader import Reader
from memory_assets.transcripts.readers.aider import AiderReader
from memory_assets.transcripts.readers.atif import AtifReader
from memory_assets.transcripts.readers.cline import ClineReader, KiloTaskReader, RooReader
from memory_assets.transcripts.readers.copilot_cli import CopilotCliReader
from memory_assets.transcripts.readers.crush import CrushReader
from memory_assets.transcripts.readers.cursor import CursorReader
from memory_assets.transcripts.readers.cursor_agent import CursorAgentReader, CursorCliReader
from memory_assets.transcripts.readers.droid import DroidReader
from memory_assets.transcripts.readers.gemini import GeminiReader
from memory_assets.transcripts.readers.goose import GooseReader
from memory_assets.transcripts.readers.hermes import HermesReader
from memory_assets.transcripts.readers.opencode import KiloReader, OpenCodeReader
from memory_assets.transcripts.readers.qwen import QwenReader
from memory_assets.transcripts.readers.specstory import SpecStoryReader
from memory_assets.transcripts.readers.vscode_copilot import VsCodeCopilotReader
from memory_assets.transcripts.readers.zed import ZedReader

OTHER_READERS: tuple[Reader, ...] = (
    CopilotCliReader(),
    GeminiReader(),
    QwenReader(),
    DroidReader(),
    OpenCodeReader(),
    KiloTaskReader(),
    KiloReader(),
    CrushReader(),
    GooseReader(),
    HermesReader(),
    ZedReader(),
    AtifReader(),
    VsCodeCopilotReader(),
    CursorCliReader(),
    CursorReader(),
    CursorAgentReader(),
    ClineReader(),
    RooReader(),
    AiderReader(),
    SpecStoryReader(),
)
