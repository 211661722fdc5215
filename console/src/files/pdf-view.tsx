import type { PDFDocumentLoadingTask, PDFDocumentProxy } from 'pdfjs-dist';
import { getDocument, PDFWorker, VerbosityLevel } from 'pdfjs-dist';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { Button, Loading, Problem } from '../parts/elements.tsx';

/** A page that takes longer is given up: a document may be made to draw for ever. */
const PATIENCE_MS = 30_000;
/** Pixels of one image of a document, and of one page. */
const MAX_PIXELS = 16_777_216;
/** Characters of a page for screen readers. */
const MAX_TEXT_CHARS = 20_000;

interface PdfViewProps {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly name: string;
}

/**
 * A PDF as pictures of its pages. Its scripts, links, forms and attachments do nothing: only the
 * display layer of PDF.js is used, and its parser runs in a worker that can request nothing.
 */
export default function PdfView({ bytes, name }: PdfViewProps) {
  const [pdf, setPdf] = useState<PDFDocumentProxy>();
  const [problem, setProblem] = useState<string>();
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    setPdf(undefined);
    setProblem(undefined);
    const worker = new Worker(new URL('pdfjs-dist/build/pdf.worker.min.mjs', import.meta.url), {
      type: 'module',
    });
    const parser = PDFWorker.create({ port: worker });
    const task = openPdf(bytes, parser);
    let isOver = false;
    const fail = (error: unknown) => {
      if (!isOver) setProblem(wordsOf(error));
    };
    const timer = setTimeout(() => fail(new Error('timeout')), PATIENCE_MS);
    worker.addEventListener('error', fail);
    task.promise.then((found) => !isOver && setPdf(found), fail).finally(() => clearTimeout(timer));
    return () => {
      isOver = true;
      clearTimeout(timer);
      // Not `task.destroy()`: that waits for a parser that may never answer.
      parser.destroy();
      worker.terminate();
    };
  }, [bytes, attempt]);
  if (problem !== undefined) {
    return <Problem words={problem} onRetry={() => setAttempt((count) => count + 1)} />;
  }
  if (pdf === undefined) return <Loading />;
  return <PdfPages pdf={pdf} name={name} onProblem={(error) => setProblem(wordsOf(error))} />;
}

function openPdf(bytes: Uint8Array<ArrayBuffer>, worker: PDFWorker): PDFDocumentLoadingTask {
  return getDocument({
    // The worker takes its bytes over.
    data: bytes.slice(),
    worker,
    maxImageSize: MAX_PIXELS,
    enableXfa: false,
    useWasm: false,
    useWorkerFetch: false,
    disableWorkerRendering: true,
    verbosity: VerbosityLevel.ERRORS,
  });
}

function wordsOf(error: unknown): string {
  const kind = error instanceof Error ? error.name : '';
  if (kind === 'PasswordException') return 'The PDF needs a password. Download it to read it.';
  if (error instanceof Error && error.message === 'timeout') {
    return 'The PDF takes too long to draw. Download it to read it.';
  }
  return 'The PDF cannot be shown: its content is damaged. Download it to read it.';
}

interface PdfPagesProps {
  readonly pdf: PDFDocumentProxy;
  readonly name: string;
  readonly onProblem: (error: unknown) => void;
}

function PdfPages({ pdf, name, onProblem }: PdfPagesProps) {
  const [number, setNumber] = useState(1);
  const [text, setText] = useState('');
  const canvas = useRef<HTMLCanvasElement>(null);
  const fail = useEffectEvent(onProblem);
  useEffect(() => {
    const place = canvas.current;
    if (place === null) return undefined;
    let isOver = false;
    let cancel = () => undefined as void;
    const end = () => {
      isOver = true;
      clearTimeout(timer);
      cancel();
    };
    const timer = setTimeout(() => {
      end();
      fail(new Error('timeout'));
    }, PATIENCE_MS);
    const draw = async () => {
      const page = await pdf.getPage(number);
      const { width, height } = page.getViewport({ scale: 1 });
      const wanted = ((place.clientWidth || width) / width) * devicePixelRatio;
      const viewport = page.getViewport({
        scale: Math.min(wanted, Math.sqrt(MAX_PIXELS / (width * height))),
      });
      if (isOver) return;
      place.width = Math.max(1, Math.floor(viewport.width));
      place.height = Math.max(1, Math.floor(viewport.height));
      const task = page.render({ canvas: place, viewport });
      cancel = () => task.cancel();
      await task.promise;
      const { items } = await page.getTextContent();
      const words = items.map((item) => ('str' in item ? item.str : '')).join(' ');
      if (!isOver) setText(words.slice(0, MAX_TEXT_CHARS));
    };
    setText('');
    draw().then(
      () => clearTimeout(timer),
      (error: unknown) => {
        clearTimeout(timer);
        if (!isOver) fail(error);
      },
    );
    return end;
  }, [pdf, number]);
  return (
    <figure className="pdf" aria-label={name}>
      <figcaption className="tools">
        <Button isDisabled={number === 1} onPress={() => setNumber(number - 1)}>
          Previous page
        </Button>
        <span role="status">
          Page {number} of {pdf.numPages}
        </span>
        <Button isDisabled={number === pdf.numPages} onPress={() => setNumber(number + 1)}>
          Next page
        </Button>
      </figcaption>
      <canvas ref={canvas} aria-hidden="true" />
      <p className="hidden">{text === '' ? 'This page has no text.' : text}</p>
    </figure>
  );
}
