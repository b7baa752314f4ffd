// Modules by the question's words, the rare ones more, from an index.
// Usage: node search.mjs index CORPUS INDEX, then node search.mjs search INDEX
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';

const words = (text) => new Set(text.toLowerCase().match(/[a-z]{4,}/g));

function index(corpus, folder) {
  const modules = {};
  for (const entry of fs.readdirSync(corpus, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath ?? entry.path, entry.name);
    modules[path.relative(corpus, file)] = [...words(fs.readFileSync(file, 'utf8'))];
  }
  fs.writeFileSync(path.join(folder, 'words.json'), JSON.stringify(modules));
}

async function search(folder) {
  const modules = JSON.parse(fs.readFileSync(path.join(folder, 'words.json'), 'utf8'));
  const having = Object.create(null);
  for (const word of Object.values(modules).flat()) having[word] = (having[word] ?? 0) + 1;
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { question, k } = JSON.parse(line);
    const asked = words(question);
    const hits = Object.entries(modules)
      .map(([file, own]) => ({
        file,
        score: own.filter((w) => asked.has(w)).reduce((sum, w) => sum + 1 / having[w], 0),
      }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || (a.file < b.file ? -1 : 1));
    console.log(JSON.stringify({ hits: hits.slice(0, k) }));
  }
}

const [act, ...folders] = process.argv.slice(2);
if (act === 'index') index(...folders);
else await search(...folders);
