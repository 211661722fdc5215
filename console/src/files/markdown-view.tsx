import Markdown from 'react-markdown';
import remarkGfm from 'remark-gfm';
import '../parts/markdown.css';

/**
 * Markdown of a sandbox as elements. Hostile: HTML in it stays text, links leave in a tab without
 * access to this one, and pictures are named only, as loading one would tell its server who reads.
 */
export default function MarkdownView({ text }: { readonly text: string }) {
  return (
    <article className="markdown" aria-label="Preview of the text">
      <Markdown
        remarkPlugins={[remarkGfm]}
        components={{
          a: ({ href, children }) =>
            /^https?:/.test(href ?? '') ? (
              <a href={href} target="_blank" rel="noopener noreferrer">
                {children}
              </a>
            ) : (
              <span>{children}</span>
            ),
          img: ({ alt }) => <span className="quiet">[picture: {alt}]</span>,
          // The page has its own first headings.
          h1: ({ children }) => <h3>{children}</h3>,
          h2: ({ children }) => <h4>{children}</h4>,
          h3: ({ children }) => <h5>{children}</h5>,
          input: ({ checked }) => <span>{checked === true ? '☑ ' : '☐ '}</span>,
        }}
      >
        {text}
      </Markdown>
    </article>
  );
}
