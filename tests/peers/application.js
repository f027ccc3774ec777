"use strict";
// An application with one visitor that signs in by the npm package passport-venmo.
//
// Reads one line of JSON: the strategy's options, but for the callback's address. Writes the port it listens on, and
// ends when its input does. /login sends the visitor to the service and /callback is where they come back; whatever
// the strategy decides is told as JSON. What passport itself adds to a strategy is done here by hand.
const http = require("node:http");
const readline = require("node:readline");
const { Strategy } = require("passport-venmo");

const session = {};

function answer(response, status, body, headers = {}) {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function verify(accessToken, refreshToken, profile, done) {
  done(null, { accessToken, refreshToken, profile });
}

function start(options) {
  let strategy;
  const server = http.createServer((request, response) => {
    const address = new URL(request.url, `http://${request.headers.host}`);
    request.query = Object.fromEntries(address.searchParams);
    request.session = session;
    const attempt = Object.assign(Object.create(strategy), {
      redirect: (location) => answer(response, 302, {}, { Location: location }),
      success: (user) => answer(response, 200, user),
      fail: () => answer(response, 401, { failed: true }),
      error: (error) => answer(response, 502, { error: error.name }),
    });
    attempt.authenticate(request, { scope: options.scope });
  });
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    strategy = new Strategy({ ...options, callbackURL: `http://127.0.0.1:${port}/callback` }, verify);
    console.log(port);
  });
}

const input = readline.createInterface({ input: process.stdin });
input.once("line", (line) => start(JSON.parse(line)));
input.once("close", () => process.exit(0));
