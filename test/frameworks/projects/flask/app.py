from flask import Flask, redirect, render_template, request, url_for
from flask_sock import Sock

app = Flask(__name__)
sock = Sock(app)


@app.get("/")
def index():
    return render_template("index.html", name=request.args.get("name"))


@app.post("/greet")
def greet():
    return redirect(url_for("index", name=request.form["name"], _external=True))


@sock.route("/ws")
def welcome(socket):
    socket.send("welcome")
    socket.receive()
