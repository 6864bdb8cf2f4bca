'use strict';

/**
 * A small task board. The model is a plain event emitter, so it runs the same
 * way in Node and in the browser; rendering is bolted on at the very end.
 *
 *   const board = new TaskBoard({ columns: ['todo', 'doing', 'done'] });
 *   board.on('moved', ({ task, from }) => console.log(task.title, from));
 */

const STORAGE_KEY = 'task-board/v2';
const SAVE_DELAY_MS = 250;
const MAX_TITLE_LENGTH = 120;
const PRIORITY_COLORS = Object.freeze({
  low: 0x7fb069,
  normal: 0x4a90d9,
  high: 0xd1495b,
});

const escapeHtml = (text) =>
  String(text).replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

const toCssColor = (number) => `#${number.toString(16).padStart(6, '0')}`;

/** Collects calls and runs `fn` once, `wait` milliseconds after the last one. */
function debounce(fn, wait = 100) {
  let timer = null;
  const debounced = function (...args) {
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      fn.apply(this, args);
    }, wait);
  };
  debounced.cancel = () => clearTimeout(timer);
  return debounced;
}

class Emitter {
  #listeners = new Map();

  on(eventName, listener) {
    if (!this.#listeners.has(eventName)) {
      this.#listeners.set(eventName, new Set());
    }
    this.#listeners.get(eventName).add(listener);
    return () => this.off(eventName, listener);
  }

  once(eventName, listener) {
    const unsubscribe = this.on(eventName, (payload) => {
      unsubscribe();
      listener(payload);
    });
    return unsubscribe;
  }

  off(eventName, listener) {
    this.#listeners.get(eventName)?.delete(listener);
  }

  emit(eventName, payload = {}) {
    // Copy first: a listener may unsubscribe itself while we are iterating.
    for (const name of [eventName, '*']) {
      for (const listener of [...(this.#listeners.get(name) ?? [])]) {
        listener({ type: eventName, ...payload });
      }
    }
  }
}

class BoardError extends Error {
  constructor(message, details) {
    super(message);
    this.name = 'BoardError';
    this.details = details;
  }
}

class TaskBoard extends Emitter {
  #tasks = new Map();
  #nextId = 1;

  constructor({ columns = ['todo', 'doing', 'done'], limits = {} } = {}) {
    super();
    this.columns = columns;
    this.limits = limits;
  }

  get size() {
    return this.#tasks.size;
  }

  add(title, { column = this.columns[0], priority = 'normal', tags = [] } = {}) {
    const trimmed = title?.trim();
    if (!trimmed) throw new BoardError('A task needs a title', { title });
    if (trimmed.length > MAX_TITLE_LENGTH) {
      throw new BoardError(`Title is longer than ${MAX_TITLE_LENGTH} characters`);
    }
    this.#assertRoomIn(column);
    const task = {
      id: this.#nextId++,
      title: trimmed,
      column,
      priority,
      tags: [...new Set(tags.map((tag) => tag.toLowerCase()))],
      createdAt: new Date().toISOString(),
    };
    this.#tasks.set(task.id, task);
    this.emit('added', { task });
    return task;
  }

  move(id, column) {
    const task = this.#find(id);
    const from = task.column;
    if (from === column) return task;
    this.#assertRoomIn(column);
    task.column = column;
    this.emit('moved', { task, from, to: column });
    return task;
  }

  remove(id) {
    const task = this.#find(id);
    this.#tasks.delete(id);
    this.emit('removed', { task });
  }

  *tasksIn(column) {
    for (const task of this.#tasks.values()) {
      if (task.column === column) yield task;
    }
  }

  /** Supports words, `#tag` and `!priority`, for example "report #q3 !high". */
  search(query) {
    const terms = query.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (task, term) => {
      if (term.startsWith('#')) return task.tags.includes(term.slice(1));
      if (term.startsWith('!')) return task.priority === term.slice(1);
      return task.title.toLowerCase().includes(term);
    };
    return [...this.#tasks.values()].filter((task) =>
      terms.every((term) => matches(task, term)),
    );
  }

  toJSON() {
    return { version: 2, nextId: this.#nextId, tasks: [...this.#tasks.values()] };
  }

  restore({ version, nextId, tasks }) {
    if (version !== 2) throw new BoardError('Unknown version', { version });
    this.#tasks = new Map(tasks.map((task) => [task.id, task]));
    this.#nextId = nextId;
    this.emit('restored', { count: tasks.length });
  }

  #find(id) {
    const task = this.#tasks.get(id);
    if (task === undefined) throw new BoardError(`No task #${id}`, { id });
    return task;
  }

  #assertRoomIn(column) {
    if (!this.columns.includes(column)) {
      throw new BoardError(`No such column: "${column}"`);
    }
    const limit = this.limits[column] ?? Infinity;
    if ([...this.tasksIn(column)].length >= limit) {
      throw new BoardError(`Column "${column}" is full (limit ${limit})`);
    }
  }
}

function autosave(board, storage) {
  const save = debounce(() => {
    storage.setItem(STORAGE_KEY, JSON.stringify(board));
  }, SAVE_DELAY_MS);
  const saved = storage.getItem(STORAGE_KEY);
  if (saved !== null) board.restore(JSON.parse(saved));
  return board.on('*', save);
}

function renderTask({ id, title, priority, tags }) {
  const color = toCssColor(PRIORITY_COLORS[priority] ?? 0x999999);
  const labels = tags.map((tag) => `<small>#${escapeHtml(tag)}</small>`).join(' ');
  return `
    <li draggable="true" data-id="${id}" style="border-color: ${color}">
      ${escapeHtml(title)} ${labels}
    </li>`;
}

function mount(board, root) {
  const render = () => {
    root.innerHTML = board.columns
      .map((column) => {
        const tasks = [...board.tasksIn(column)];
        return `<section data-column="${column}">
          <h2>${escapeHtml(column)} · ${tasks.length}</h2>
          <ul>${tasks.map(renderTask).join('')}</ul>
        </section>`;
      })
      .join('\n');
  };

  root.addEventListener('dragstart', (event) => {
    event.dataTransfer.setData('text/plain', event.target.dataset.id);
  });
  root.addEventListener('dragover', (event) => event.preventDefault());
  root.addEventListener('drop', (event) => {
    event.preventDefault();
    const column = event.target.closest('[data-column]')?.dataset.column;
    const id = Number(event.dataTransfer.getData('text/plain'));
    try {
      if (column) board.move(id, column);
    } catch (error) {
      // FIXME: show this next to the column instead of in the console
      console.warn(error.message);
    }
  });

  board.on('*', () => requestAnimationFrame(render));
  render();
}

if (typeof document !== 'undefined') {
  const board = new TaskBoard({ limits: { doing: 3 } });
  autosave(board, window.localStorage);
  mount(board, document.querySelector('#board'));
} else {
  const board = new TaskBoard({ limits: { doing: 1 } });
  board.on('*', ({ type, task, from }) => {
    console.log(`[${type}] ${task.title}${from ? ` (was in ${from})` : ''}`);
  });
  const letter = board.add('Write to the café about Friday', { tags: ['Mail'] });
  const roof = board.add('Fix the roof', { priority: 'high' });
  board.move(letter.id, 'doing');
  try {
    board.move(roof.id, 'doing');
  } catch (error) {
    console.error(`✗ ${error.message}`);
  }
  console.log(board.search('#mail').map((task) => task.title));
}
