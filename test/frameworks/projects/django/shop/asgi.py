import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")

from channels.generic.websocket import WebsocketConsumer
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application
from django.urls import path


class Welcome(WebsocketConsumer):
    def connect(self):
        self.accept()
        self.send(text_data="welcome")


application = ProtocolTypeRouter(
    {
        "http": get_asgi_application(),
        "websocket": AllowedHostsOriginValidator(URLRouter([path("ws", Welcome.as_asgi())])),
    }
)
