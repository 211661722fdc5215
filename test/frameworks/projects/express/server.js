import { readFileSync, watchFile } from 'node:fs';
import { createServer } from 'node:http';
import express from 'express';
import { Server } from 'socket.io';

const app = express();
const server = createServer(app);
const io = new Server(server);
const heading = () => readFileSync('heading.txt', 'utf8').trim();

app.use(express.static('public'));
app.post('/greet', express.urlencoded(), (req, res) => {
  res.redirect(`/greeting.html?name=${encodeURIComponent(req.body.name)}`);
});
io.on('connection', (socket) => socket.emit('heading', heading()));
watchFile('heading.txt', { interval: 100 }, () => io.emit('heading', heading()));

server.listen(3000);
