/** Bytes by name in the browser's IndexedDB. */

import { reason, ResourceExhaustedError } from './errors.js';

const DATABASE = 'tfx';
const STORE = 'checkpoints';

function opened(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(STORE);
    };
    request.onsuccess = () => {
      resolve(request.result);
    };
    request.onerror = () => {
      reject(new ResourceExhaustedError(`this browser keeps nothing (${reason(request.error)})`));
    };
  });
}

async function done<T>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const database = await opened();
  try {
    return await new Promise<T>((resolve, reject) => {
      const transaction = database.transaction(STORE, mode);
      const request = work(transaction.objectStore(STORE));
      transaction.oncomplete = () => {
        resolve(request.result);
      };
      transaction.onabort = () => {
        const text = reason(transaction.error);
        reject(new ResourceExhaustedError(`this browser could not keep it (${text})`));
      };
    });
  } finally {
    database.close();
  }
}

/** Keep bytes under a name; those that are there are replaced, or stay as they were. */
export async function putRecord(key: string, data: Uint8Array): Promise<void> {
  await done('readwrite', (store) => store.put(data, key));
}

export function getRecord(key: string): Promise<Uint8Array | undefined> {
  return done('readonly', (store) => store.get(key) as IDBRequest<Uint8Array | undefined>);
}

export async function listRecords(): Promise<string[]> {
  return (await done('readonly', (store) => store.getAllKeys())).map(String);
}

export async function deleteRecord(key: string): Promise<void> {
  await done('readwrite', (store) => store.delete(key));
}
