# Written by `python -m penstock.api.generate`.
from penstock.keras.engine.files import save_model as save_model
from penstock.keras.engine.model import Model as Model
from penstock.keras.engine.sequential import Sequential as Sequential
from penstock.keras.models.loading import clone_model as clone_model
from penstock.keras.models.loading import load_model as load_model
from penstock.keras.models.loading import model_from_config as model_from_config
from penstock.keras.models.loading import model_from_json as model_from_json
from penstock.keras.models.loading import model_from_yaml as model_from_yaml

__all__ = [
    "save_model", "Model", "Sequential", "clone_model", "load_model", "model_from_config", "model_from_json",
    "model_from_yaml"
]
