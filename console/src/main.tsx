import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
// First, in this order: component styles must follow shared ones.
import './tokens.css';
import './style.css';
import './lists/lists.css';
import './parts/dialogs.css';
import { App } from './app.tsx';
import { applyTheme } from './live/theme.ts';
import { ErrorBoundary } from './parts/error-boundary.tsx';

applyTheme();
const root = document.getElementById('root');
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <ErrorBoundary at="">
        <App />
      </ErrorBoundary>
    </StrictMode>,
  );
}
