import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { whileBusy } from './while-busy.ts';

/**
 * Opens the file, made for its owner alone when it is new (SQLite gives its WAL the same mode). WAL lets readers and
 * the one writer go on side by side; with synchronous NORMAL a process that dies loses nothing, a machine that
 * loses power at most the last transactions, never half of one.
 What is deleted is overwritten with zeros, so that a copy of
 * the file holds nothing that is gone.
 */
export async function openDatabase(file: string, busyTimeoutMs: number): Promise<DatabaseSync> {
  const inMemory = file === ':memory:';
  if (!inMemory) createPrivately(file);
  const database = new DatabaseSync(file, { timeout: 0, enableForeignKeyConstraints: true });
  try {
    // Changing the mode needs the file for oneself; it is kept in the file, so only the first instances compete.
    const mode = await whileBusy(busyTimeoutMs, () => database.prepare('pragma journal_mode = wal').get());
    if (!inMemory && mode?.['journal_mode'] !== 'wal') {
      throw Object.assign(new Error('no write-ahead log can be had in this folder'), { errcode: 10 });
    }
    database.exec('pragma synchronous = normal; pragma secure_delete = on');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600));
  } catch {
    // It exists, or SQLite says better what is wrong.
  }
}
