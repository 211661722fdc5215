import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { reloadForMissingParts } from './live/new-build.ts';
import { ErrorBoundary } from './parts/error-boundary.tsx';
import './style.css';

reloadForMissingParts();
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
