import { describe, expect, test } from '@jest/globals';
import { needsRestart } from '../../client/cli/up/reloads.ts';

const SCRIPTS = {
  start: 'node ./bin/www',
  dev: 'vite',
  watch: 'node --watch server.js',
  built: 'npm run build && node dist/server.js',
  again: 'npm run again',
};

describe('needsRestart', () => {
  test.each([
    'go run .',
    'cargo run --release',
    'java -jar app.jar',
    './gradlew bootRun',
    './mvnw spring-boot:run',
    'node server.js',
    '/usr/bin/node server.js',
    'NODE_ENV=development cross-env PORT=3000 node --inspect server.js',
    'exec node server.js',
    'npx tsx server.ts',
    'tsx src/server.ts',
    'ts-node server.ts',
    'bun server.ts',
    'bun run ./src/index.ts',
    'deno run --allow-net main.ts',
    'deno serve main.ts',
    'python3 app.py',
    'python -m uvicorn main:app',
    'gunicorn app:app',
    'flask run',
    'npm start',
    'ng serve',
    'pnpm run start',
    'npm run built',
  ])('restarts %s', (line) => {
    expect(needsRestart(line, SCRIPTS)).toBe(true);
  });

  test.each([
    'vite',
    'next dev',
    'npm run dev',
    'npm run watch',
    'npm run again',
    'npm run unknown',
    'node --watch server.js',
    'node --watch-path=src server.js',
    'tsx watch server.ts',
    'nodemon server.js',
    'bun --hot server.ts',
    'bun run dev',
    'deno run --watch main.ts',
    'python3 manage.py runserver 8000',
    'python3 -m http.server 3000',
    'python3 -m flask --app app run --debug',
    'uvicorn main:app --reload',
    'streamlit run app.py --server.runOnSave true',
    'turbo dev',
    'echo node server.js',
    '',
  ])('leaves %s', (line) => {
    expect(needsRestart(line, SCRIPTS)).toBe(false);
  });
});
