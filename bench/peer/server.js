// The peer under test: socket.io from the ordinary registry, used as its documentation shows.
// A client joins one room; what it sends goes to everybody in that room, and is acknowledged
// from memory (nothing is stored).
"use strict";

const { createServer } = require("node:http");
const { Server } = require("socket.io");

const http = createServer();
const io = new Server(http, { transports: ["websocket"], serveClient: false });

io.on("connection", (socket) => {
  socket.on("join", (room, done) => {
    socket.join(room);
    done();
  });
  socket.on("send", (room, text, done) => {
    io.to(room).emit("message.new", text);
    done();
  });
});

http.listen(0, "127.0.0.1", () => console.log(`listening ${http.address().port}`));

// The bench holds the other end of standard input: when it is gone, so is the peer.
process.stdin.on("end", () => process.exit(0));
process.stdin.resume();
