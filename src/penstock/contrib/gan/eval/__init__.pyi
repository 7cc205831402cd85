# Written by `python -m penstock.api.generate`.
from penstock.contrib.gan.eval.classifiers import INCEPTION_DEFAULT_IMAGE_SIZE as INCEPTION_DEFAULT_IMAGE_SIZE
from penstock.contrib.gan.eval.classifiers import frechet_inception_distance as frechet_inception_distance
from penstock.contrib.gan.eval.classifiers import get_graph_def_from_disk as get_graph_def_from_disk
from penstock.contrib.gan.eval.classifiers import inception_score as inception_score
from penstock.contrib.gan.eval.classifiers import preprocess_image as preprocess_image
from penstock.contrib.gan.eval.classifiers import run_image_classifier as run_image_classifier
from penstock.contrib.gan.eval.classifiers import run_inception as run_inception
from penstock.contrib.gan.eval.pictures import add_gan_model_image_summaries as add_gan_model_image_summaries
from penstock.contrib.gan.eval.pictures import add_gan_model_summaries as add_gan_model_summaries
from penstock.contrib.gan.eval.pictures import add_image_comparison_summaries as add_image_comparison_summaries
from penstock.contrib.gan.eval.pictures import add_regularization_loss_summaries as add_regularization_loss_summaries
from penstock.contrib.gan.eval.pictures import image_grid as image_grid
from penstock.contrib.gan.eval.pictures import image_reshaper as image_reshaper
from penstock.contrib.gan.eval.scores import classifier_score as classifier_score
from penstock.contrib.gan.eval.scores import classifier_score_from_logits as classifier_score_from_logits
from penstock.contrib.gan.eval.scores import frechet_classifier_distance as frechet_classifier_distance
from penstock.contrib.gan.eval.scores import frechet_classifier_distance_from_activations as frechet_classifier_distance_from_activations

__all__ = [
    "INCEPTION_DEFAULT_IMAGE_SIZE", "frechet_inception_distance", "get_graph_def_from_disk", "inception_score",
    "preprocess_image", "run_image_classifier", "run_inception", "add_gan_model_image_summaries",
    "add_gan_model_summaries", "add_image_comparison_summaries", "add_regularization_loss_summaries", "image_grid",
    "image_reshaper", "classifier_score", "classifier_score_from_logits", "frechet_classifier_distance",
    "frechet_classifier_distance_from_activations"
]
