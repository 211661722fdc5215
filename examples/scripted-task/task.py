import porthole

run = porthole.run()
run.upload({"package.json": '{"name": "app"}', "app.js": "serve("})
run.exec("npm install").text()
server = run.serve("node app.js", port=3000, restart="never")
try:
    server.preview()
except porthole.PortholeError:
    print(server.log())
    run.files.write("app.js", "require('http').createServer((_, answer) => answer.end('Hello')).listen(3000)")
    server.restart()
print(server.preview())
