import { type ComponentProps, isValidElement, type ReactNode, useEffect } from 'react';
import Markdown from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { Link } from 'wouter';
import { Missing } from '../parts/elements.tsx';
import { lazyPart } from '../parts/lazy-part.tsx';
import '../parts/markdown.css';
import { documentAddress, documentId, headingId, INDEX, linkTarget } from './document-links.ts';
import { DOCUMENTS } from './documents.ts';

const PAGES = new Map(
  [...DOCUMENTS].map(([id, { path, load }]) => {
    const loadPage = async () => {
      const text = await load();
      return { default: () => <Document id={id} path={path} text={text} /> };
    };
    return [id, lazyPart(loadPage)];
  }),
);

/** The documentation of the same build. */
export default function DocsPage({ id }: { readonly id: string }) {
  const Page = PAGES.get(id);
  return Page === undefined ? <Missing what="page" /> : <Page />;
}

interface DocumentProps {
  readonly id: string;
  readonly path: string;
  readonly text: string;
}

function Document({ id, path, text }: DocumentProps) {
  useEffect(() => {
    const anchor = decodeURIComponent(window.location.hash.slice(1));
    if (anchor === '') window.scrollTo(0, 0);
    else document.getElementById(anchor)?.scrollIntoView();
  }, []);
  return (
    <article className="markdown docs">
      {id === INDEX ? null : (
        <p className="crumb">
          <Link href={documentAddress(INDEX)}>Docs</Link>
        </p>
      )}
      <Markdown
        remarkPlugins={[remarkGfm]}
        components={{
          ...HEADINGS,
          a: ({ href = '', children }) => (
            <DocumentLink from={path} href={href}>
              {children}
            </DocumentLink>
          ),
          // The pictures show this console.
          img: () => null,
          table: ({ children }) => (
            <div className="scroll" role="group" aria-label="Table" tabIndex={0}>
              <table>{children}</table>
            </div>
          ),
        }}
      >
        {text}
      </Markdown>
    </article>
  );
}

const HEADINGS = {
  h2: ({ children }: ComponentProps<'h2'>) => <h2 id={headingId(wordsOf(children))}>{children}</h2>,
  h3: ({ children }: ComponentProps<'h3'>) => <h3 id={headingId(wordsOf(children))}>{children}</h3>,
};

function wordsOf(node: ReactNode): string {
  if (Array.isArray(node)) return node.map(wordsOf).join('');
  if (isValidElement<{ readonly children?: ReactNode }>(node)) return wordsOf(node.props.children);
  return typeof node === 'string' ? node : '';
}

interface DocumentLinkProps {
  readonly from: string;
  readonly href: string;
  readonly children: ReactNode;
}

/** A link to another document stays in the console. Files that are not part of it have no link. */
function DocumentLink({ from, href, children }: DocumentLinkProps) {
  if (/^https?:/.test(href)) {
    return (
      <a href={href} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    );
  }
  if (href.startsWith('#')) return <a href={href}>{children}</a>;
  const { path, hash } = linkTarget(from, href);
  const id = documentId(path);
  if (DOCUMENTS.get(id)?.path !== path) return <span>{children}</span>;
  return <Link href={documentAddress(id) + hash}>{children}</Link>;
}
